import { startV1Http, type V1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { SLOW_MS, type Leaver, type Way } from './leavers.ts';

export const SAME = { ms: SLOW_MS, text: 'same' };

export interface Left {
  server: V1Http;
  /** Of the same principal. */
  hub: HubClient;
  leaver: Leaver;
  /** Texts of the calls that reached the server. */
  ran: () => unknown[];
}

/** A client that has given up the call of a slow tool. */
export async function left({ open }: Way): Promise<Left> {
  const server = owned(await startV1Http());
  // Short of how long the call takes, so that those who can have a task get one.
  const { url } = await httpGateway({ one: { url: server.url } }, { direct: { taskAfterMs: SLOW_MS / 4 } });
  const hub = await hubOverHttp(url, 'modern');
  const leaver = await open(`${url}/one`);
  await leaver.leave('slow', SAME, () => soon(() => server.state.calls.length).toBe(1));
  await soon(async () => (await tasksOf(hub)).length).toBe(1);
  const ran = (): unknown[] => server.state.calls.map(({ args }) => args['text']);
  return { server, hub, leaver, ran };
}
