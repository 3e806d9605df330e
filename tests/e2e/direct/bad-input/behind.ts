import type { Clock } from '../../../../src/lib/clock.ts';
import { startTasksV2Http, type TasksV2Http } from '../../../servers/tasks-v2-http.ts';
import { startV1Http, type V1Http } from '../../../servers/v1-http.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';

export interface Behind {
  /** Pushes its questions, and knows no tasks. */
  plain: V1Http;
  /** Keeps tasks of the extension. */
  keeper: TasksV2Http;
  running: TestGateway;
  /** Their endpoints. */
  one: string;
  ext: string;
}

export async function behind(settings: SettingsInput = {}, clock?: Clock): Promise<Behind> {
  const plain = owned(await startV1Http());
  const keeper = owned(await startTasksV2Http());
  const direct = { taskAfterMs: 500 };
  const servers = { one: { url: plain.url }, ext: { url: keeper.url } };
  const running = await httpGateway(servers, { direct, ...settings }, clock);
  return { plain, keeper, running, one: `${running.url}/one`, ext: `${running.url}/ext` };
}
