/** A gateway with a server of each era, a client that makes calls, and people at the console. */
import { startV1Http, type V1Http } from '../../servers/v1-http.ts';
import { startV2Http, type V2Http } from '../../servers/v2-http.ts';
import { atConsole, type ConsolePerson, type Item } from '../../support/console.ts';
import { httpGateway, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, type HubClient } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';

export const ANN = 'a-token-of-ann-1234';
export const BOB = 'a-token-of-bob-1234';
export const OLA = 'a-token-of-ola-1234';
/** Two people with clients, and an operator. */
export const PEOPLE = { auth: { tokens: { ann: ANN, bob: BOB, ola: OLA }, operators: ['ola'] } };

export interface Setup {
  v1: V1Http;
  v2: V2Http;
  gateway: TestGateway;
  hub: HubClient;
  person: ConsolePerson;
}

/** `old` knows sessions, `new` does not. */
export async function servers(): Promise<Pick<Setup, 'v1' | 'v2'> & { config: Record<string, { url: string }> }> {
  const v1 = owned(await startV1Http());
  const v2 = owned(await startV2Http({ era: 'modern' }));
  return { v1, v2, config: { old: { url: v1.url }, new: { url: v2.url } } };
}

export async function setup(settings: SettingsInput = {}): Promise<Setup> {
  const { v1, v2, config } = await servers();
  const gateway = await httpGateway(config, settings);
  const hub = await hubOverHttp(gateway.url);
  return { v1, v2, gateway, hub, person: await atConsole(gateway) };
}

/** A question of a server, which its call waits for. */
export async function asked(
  hub: HubClient,
  person: ConsolePerson,
  server: string,
  tool = 'ask',
  args = {},
): Promise<Item> {
  await hub.call('execute_tool', { server, tool, args });
  return person.one(`/questions?server=${server}`);
}
