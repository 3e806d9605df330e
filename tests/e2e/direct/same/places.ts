/** The rich server alone, and behind the gateway, each over HTTP and as a program. The test owns them. */
import type { Era } from '../../../servers/rich/wire.ts';
import { startRichHttp } from '../../../servers/rich-http.ts';
import type { ServerConfig } from '../../../../src/core/ports/server-config.ts';
import { httpGateway, stdioGateway } from '../../../support/gateway.ts';
import { owned } from '../../../support/owned.ts';
import { bundlePath } from '../../../support/servers.ts';
import type { Place, Transport } from './wire-client.ts';

export async function serverAlone(era: Era, transport: Transport): Promise<Place> {
  if (transport === 'HTTP') return { url: owned(await startRichHttp(era)).url };
  return { command: process.execPath, args: [bundlePath('rich-stdio')], env: { TEST_ERA: era } };
}

/** `server` as the client of the gateway sees it over `transport`. */
export async function throughGateway(server: Place, transport: Transport): Promise<Place> {
  if ('socket' in server) throw new Error('a gateway is no server');
  const servers = { rich: 'url' in server ? { url: server.url } : (server satisfies ServerConfig) };
  if (transport === 'HTTP') return { url: `${(await httpGateway(servers)).url}/rich` };
  return { socket: await stdioGateway(servers, {}, 'rich') };
}
