import { TaskClientError } from '../../client/task-client-error.ts';
import { TaskClient } from '../../client/task-client.ts';
import type { ServerInfo } from '../../core/ports/connection.ts';
import type { Tool } from '../../client/types.ts';
import { messageOf } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import { accountFor, type CommandAccount } from '../account/command-account.ts';
import { askToSignIn } from '../account/ask.ts';
import { configFor } from '../config.ts';
import { parseDuration } from '../units.ts';
import { Failure } from '../failure.ts';
import { UsageError, type CommandLine, type Flags } from '../flags.ts';
import { findServer, type FoundServer } from './find-server.ts';
import { serverLabel } from './label.ts';
import { ServerOutput } from './output.ts';
import { at, troubleWith } from './trouble.ts';
import { Stop } from '../stop.ts';
import { Screen } from '../terminal/screen.ts';

/** The connection of one command to one server. */
export interface ServerSession {
  client: TaskClient;
  server: FoundServer;
  label: string;
  info: ServerInfo;
  screen: Screen;
  stop: Stop;
  flags: Flags;
  /** Leaves the session open at the server. */
  keepSession(): void;
}

/** Connects to the server, runs `use` and disconnects, also after an error. */
export async function withServer(
  line: CommandLine,
  serverText: string,
  use: (session: ServerSession) => Promise<number>,
): Promise<number> {
  const { command, flags } = line;
  const stop = openStop(flags);
  const screen = new Screen(flags);
  const server = await findServer(serverText, flags.header ?? [], async () => configFor(line));
  if (flags.session !== undefined && !('url' in server.config)) {
    throw new UsageError('--session is for servers with a URL; this one is a command');
  }
  const account = accountFor(
    server,
    async () => configFor(line),
    screen.attended ? async (signIn) => askToSignIn(screen, signIn) : undefined,
  );
  const client = newClient(server, flags, account);
  const printed = new ServerOutput(client);
  // Other commands do not ask the person.
  if (command !== 'call' && command !== 'tasks') declineAll(client);
  const label = serverLabel(server);
  // A session given with --session is not ours to end.
  let keepSession = flags.session !== undefined;
  try {
    screen.live?.show(`connecting to ${label}`);
    const connect = async (): Promise<ServerInfo> => client.connect();
    const info = await stop.unless(account === undefined ? connect() : account.connect(connect));
    screen.live?.hide();
    const session: ServerSession = {
      client,
      server,
      label,
      info,
      screen,
      stop,
      flags,
      keepSession: () => {
        keepSession = true;
      },
    };
    return await use(session);
  } catch (error) {
    throw failureFrom(error, server, printed);
  } finally {
    screen.live?.hide();
    stop.onInterrupt(undefined);
    await client.disconnect({ keepSession });
    await account?.close();
    stop.close();
  }
}

/** Whether the server has such a capability. In a resumed session its capabilities are not known. */
export function offers({ info, flags }: ServerSession, what: 'tools' | 'resources' | 'prompts'): boolean {
  return flags.session !== undefined || info.capabilities[what] !== undefined;
}

/** The tools that have a name; a server may list anything. */
export async function listTools({ client, stop }: ServerSession): Promise<Tool[]> {
  return (await stop.unless(client.listTools())).filter(isTool);
}

export const isTool = (thing: unknown): thing is Tool => isObject(thing) && typeof thing['name'] === 'string';

function openStop({ timeout: text }: Flags): Stop {
  return new Stop(text === undefined ? undefined : { ms: parseDuration(text, 'timeout'), text });
}

/** All commands declare the same capabilities: some servers hide tools from clients that cannot be asked. */
export function newClient(server: FoundServer, { session }: Flags, account?: CommandAccount): TaskClient {
  const options = {
    name: 'meanwhile',
    elicitation: true,
    sampling: true,
    ...(server.connectTimeoutMs !== undefined && { connectTimeoutMs: server.connectTimeoutMs }),
    ...(session !== undefined && { sessionId: session }),
  };
  // Big numbers are printed with all their digits.
  return new TaskClient(server.config, options, (value) => value, account?.account);
}

/** For commands that ask the person nothing. */
export function declineAll(client: TaskClient): void {
  client.addEventListener('newPendingElicitation', ({ detail }) => detail.respond({ action: 'cancel' }));
  client.addEventListener('newPendingSample', ({ detail }) => detail.reject('this command does not answer questions'));
}

/** Any error of the session as the failure that the program reports. */
function failureFrom(error: unknown, server: FoundServer, printed: ServerOutput): Error {
  if (error instanceof TaskClientError) {
    const { kind, code, data } = error;
    const details = { ...(code !== undefined && { rpcCode: code }), ...(data !== undefined && { data }) };
    return new Failure(kind === 'error' ? 'server_error' : kind, describe(error, server, printed), details, {
      cause: error,
    });
  }
  return error instanceof Error ? error : new Failure('unexpected', messageOf(error));
}

function describe(error: TaskClientError, server: FoundServer, printed: ServerOutput): string {
  const { kind, message } = error;
  switch (kind) {
    case 'unreachable': {
      const { reason, fix } = troubleWith(error, server.config);
      return `cannot reach ${at(serverLabel(server), server.config)}: ${reason}${fix === undefined ? '' : `\n${fix}`}`;
    }
    case 'lost':
      return [`lost the connection to ${serverLabel(server)}: ${message}`, ...lastOutput(printed)].join('\n');
    case 'error':
    case 'cancelled':
    case 'refused':
      return message;
  }
}

function lastOutput(printed: ServerOutput): string[] {
  const lines = printed.lastLines();
  return lines.length === 0 ? [] : ['its last output:', ...lines.map((line) => `  ${line}`)];
}
