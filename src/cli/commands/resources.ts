import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { OutFolder } from '../out-folder.ts';
import { showContents } from '../terminal/blocks.ts';
import { cleanLine } from '../../lib/clean.ts';
import { offers, withServer, type ServerSession } from '../server/session.ts';
import { firstLine } from './tools.ts';
import { codeOf } from '../../lib/log.ts';
import { METHOD_NOT_FOUND } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';

type Item = Record<string, unknown>;

export async function resources(line: CommandLine): Promise<number> {
  const [server, ...uris] = line.operands;
  if (server === undefined) throw new UsageError('expected meanwhile resources <server> [uri …]');
  return withServer(line, server, async (session) => (uris.length === 0 ? list(session) : read(session, uris)));
}

async function list(session: ServerSession): Promise<number> {
  const { client, screen, stop, label } = session;
  const offered = offers(session, 'resources');
  const found = offered ? await stop.unless(client.listAll('resources/list', 'resources')) : [];
  const templates = offered ? await stop.unless(templatesOf(client)) : [];
  const rows = [
    ...found.filter(isObject).map((item) => row(item, item['uri'], templates.length === 0 ? [] : [''])),
    ...templates.filter(isObject).map((item) => row(item, item['uriTemplate'], ['template'])),
  ];
  screen.printList({ resources: found, resourceTemplates: templates }, rows, `${label} has no resources`);
  return RESULT;
}

function row(item: Item, uri: unknown, mark: readonly string[]): string[] {
  const about = firstLine(item['description'] ?? item['title'] ?? item['name']);
  return [cleanLine(uri), ...mark, cleanLine(item['mimeType'] ?? ''), about];
}

/** Many servers with resources do not implement templates. */
async function templatesOf(client: ServerSession['client']): Promise<Item[]> {
  return client.listAll('resources/templates/list', 'resourceTemplates').catch((error: unknown) => {
    if (codeOf(error) === METHOD_NOT_FOUND) return [];
    throw error;
  });
}

async function read({ client, screen, stop, flags }: ServerSession, uris: readonly string[]): Promise<number> {
  const out = OutFolder.from(flags, 'resource');
  const results: Item[] = [];
  for (const uri of uris) results.push(await stop.unless(client.request('resources/read', { uri })));
  const contents = results.flatMap((result) =>
    Array.isArray(result['contents']) ? result['contents'].filter(isObject) : [],
  );
  const shown: string[] = [];
  for (const each of contents) shown.push(await showContents(each, out));
  if (screen.json) screen.printJson(results.length === 1 ? results[0] : { contents });
  else screen.print(shown.join('\n'));
  return RESULT;
}
