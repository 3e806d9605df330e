/** Hub clients of two principals at one gateway. */
import { httpGateway, type Servers, type SettingsInput, type TestGateway } from '../../support/gateway.ts';
import { hubOverHttp, type ClientKind, type HubClient } from '../../support/hub.ts';

export const TOKENS = { ada: 'ada-has-this-token', ben: 'ben-has-another-token' };
export const ADA = { authorization: `Bearer ${TOKENS.ada}` };
export const BEN = { authorization: `Bearer ${TOKENS.ben}` };

export interface TwoHubs {
  running: TestGateway;
  url: string;
  ada: HubClient;
  ben: HubClient;
}

/** The test servers listen on loopback addresses, which clients with a token may not add by default. */
export const LOOPBACK_ALLOWED = { addServerAddresses: 'any' };

export async function twoHubs(servers: Servers, kind: ClientKind, settings: SettingsInput = {}): Promise<TwoHubs> {
  const running = await httpGateway(servers, { auth: { tokens: TOKENS }, ...LOOPBACK_ALLOWED, ...settings });
  const { url } = running;
  const [ada, ben] = await Promise.all([hubOverHttp(url, kind, ADA), hubOverHttp(url, kind, BEN)]);
  return { running, url, ada, ben };
}

export async function serverNames(hub: HubClient): Promise<string[]> {
  const { body } = await hub.call('list_servers');
  return (body['servers'] as { name: string }[]).map(({ name }) => name).toSorted();
}
