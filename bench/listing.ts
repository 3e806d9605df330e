/** CPU time of `tools/list` at the endpoint of all servers when nothing has changed. */
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { Child, PROGRAM, script } from './child.ts';
import { ENVELOPE, INITIALIZE, VERSION, type Era } from './load.ts';

const SERVERS = 50;
const TOOLS = 20;
const WARM_UP = 100;
const ROUNDS = 4;
const LISTS_A_ROUND = 50;

/** CPU milliseconds of a list, by the era of the client. */
export type Listing = Record<Era, number>;

export async function measureListing(folder: string): Promise<Listing> {
  const servers = script('tool-servers.ts');
  const origin = await servers.url;
  const config = join(folder, 'listing.json');
  const mcpServers = Object.fromEntries(
    Array.from({ length: SERVERS }, (_each, index) => [`server-${index}`, { url: origin }]),
  );
  await writeFile(config, JSON.stringify({ mcpServers, meanwhile: { port: 0, store: ':memory:' } }));
  const gateway = new Child([PROGRAM, 'serve', '--config', config]);
  try {
    const url = `${await gateway.url}/all`;
    return { legacy: await cpuMsOfList(gateway, url, 'legacy'), modern: await cpuMsOfList(gateway, url, 'modern') };
  } finally {
    await Promise.all([gateway.stop('SIGKILL'), servers.stop('SIGKILL')]);
  }
}

async function cpuMsOfList(gateway: Child, url: string, era: Era): Promise<number> {
  const list = await openClient(url, era);
  for (let index = 0; index < WARM_UP; index += 1) await list();
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await gateway.usage();
    for (let index = 0; index < LISTS_A_ROUND; index += 1) await list();
    rounds.push(((await gateway.usage()).cpuMs - before.cpuMs) / LISTS_A_ROUND);
  }
  return Math.min(...rounds);
}

/** A client that lists the tools and looks whether all of them are there. */
async function openClient(url: string, era: Era): Promise<() => Promise<void>> {
  const agent = new Agent({ keepAlive: true });
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION[era],
    ...(era === 'modern' && { 'mcp-method': 'tools/list' }),
  };
  const post = async (message: object): Promise<string> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers, agent }, (response) => {
        const { 'mcp-session-id': session } = response.headers;
        if (typeof session === 'string') headers['mcp-session-id'] = session;
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks).toString()));
      });
      sent.on('error', reject);
      sent.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
    });
  if (era === 'legacy') {
    const params = { ...INITIALIZE, capabilities: { elicitation: {} } };
    await post({ id: 0, method: 'initialize', params });
    await post({ method: 'notifications/initialized' });
  }
  const last = `server-${SERVERS - 1}__search_issues_${TOOLS - 1}`;
  return async () => {
    const text = await post({ id: 1, method: 'tools/list', params: era === 'modern' ? { _meta: ENVELOPE } : {} });
    if (!text.includes(`"${last}"`) || text.includes('meanwhile/missing')) throw new Error(text.slice(-1000));
  };
}
