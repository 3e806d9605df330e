/** Two principals at one gateway. */
import { startTasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { startV1Http, type V1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../../support/hub.ts';
import { owned } from '../../../support/owned.ts';
import { bearer } from '../answered.ts';

export const TOKENS = { ada: 'ada-has-this-token', ben: 'ben-has-another-token' };

export interface Principal {
  hub: HubClient;
  headers: Record<string, string>;
}

export interface TwoPrincipals {
  server: V1Http;
  url: string;
  /** The endpoint of a server that pushes questions, and of one that keeps tasks. */
  one: string;
  ext: string;
  ada: Principal;
  ben: Principal;
}

export async function twoPrincipals(): Promise<TwoPrincipals> {
  const server = owned(await startV1Http());
  const tasks = owned(await startTasksV2Http());
  const settings = { auth: { tokens: TOKENS }, direct: { taskAfterMs: 500 } };
  const { url } = await httpGateway({ one: { url: server.url }, ext: { url: tasks.url } }, settings);
  const principal = async (token: string): Promise<Principal> => {
    const headers = bearer(token);
    return { headers, hub: await hubOverHttp(url, 'modern', headers) };
  };
  const [ada, ben] = await Promise.all([principal(TOKENS.ada), principal(TOKENS.ben)]);
  return { server, url, one: `${url}/one`, ext: `${url}/ext`, ada, ben };
}
