import { TaskClientError, type FailureKind } from '../client/task-client-error.ts';
import { TaskClient } from '../client/task-client.ts';
import type { ServerInfo } from '../core/ports.ts';
import { messageOf } from '../lib/log.ts';
import { clientConfigFor } from './config.ts';
import { parseDuration } from './duration.ts';
import { Failure, type FailureCode } from './failure.ts';
import { UsageError, type CommandLine, type Flags } from './flags.ts';
import { findServer, type FoundServer } from './server/find-server.ts';
import { labelOf } from './server/label.ts';
import { ServerOutput } from './server/output.ts';
import { at, troubleWith } from './server/trouble.ts';
import { Stop } from './stop.ts';
import { Screen } from './terminal/screen.ts';

/** One command's stay at one server. */
export interface Visit {
  client: TaskClient;
  server: FoundServer;
  label: string;
  info: ServerInfo;
  screen: Screen;
  stop: Stop;
  flags: Flags;
  /** The server keeps the session when we leave. */
  keepSession(): void;
}

/** Connects, does what is to be done, and leaves, however it ends. */
export async function visit(
  line: CommandLine,
  serverText: string,
  use: (visit: Visit) => Promise<number>,
): Promise<number> {
  const { command, flags } = line;
  const stop = openStop(flags);
  const screen = new Screen(flags);
  const server = await findServer(serverText, flags.header ?? [], async () => clientConfigFor(line));
  if (flags.session !== undefined && !('url' in server.config)) {
    throw new UsageError('--session is for servers with a URL; this one is a command');
  }
  const client = newClient(server, flags);
  const printed = new ServerOutput(client);
  // Only there the person is asked.
  if (command !== 'call' && command !== 'tasks') turnDown(client);
  const label = labelOf(server);
  // A session that was given is not ours to end.
  let keepSession = flags.session !== undefined;
  try {
    screen.live?.show(`connecting to ${label}`);
    const info = await stop.unless(client.connect());
    screen.live?.hide();
    const stay: Visit = {
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
    return await use(stay);
  } catch (error) {
    throw failureFrom(error, server, printed);
  } finally {
    screen.live?.hide();
    stop.onInterrupt(undefined);
    await client.disconnect({ keepSession });
    stop.close();
  }
}

/** Whether the server has such things. What one can do that we go on with in a session is not known. */
export function offers({ info, flags }: Visit, what: 'tools' | 'resources' | 'prompts'): boolean {
  return flags.session !== undefined || info.capabilities[what] !== undefined;
}

export function openStop({ timeout: text }: Flags): Stop {
  return new Stop(text === undefined ? undefined : { ms: parseDuration(text, 'timeout'), text });
}

/** The same client for all commands: a server may have other tools for one that cannot be asked. */
export function newClient(server: FoundServer, { session }: Flags): TaskClient {
  return new TaskClient(server.config, {
    name: 'meanwhile',
    elicitation: true,
    sampling: true,
    ...(server.connectTimeoutMs !== undefined && { connectTimeoutMs: server.connectTimeoutMs }),
    ...(session !== undefined && { sessionId: session }),
  });
}

/** Whoever only lists has nobody to ask. */
export function turnDown(client: TaskClient): void {
  client.addEventListener('newPendingElicitation', ({ detail }) => detail.respond({ action: 'cancel' }));
  client.addEventListener('newPendingSample', ({ detail }) => detail.reject('nobody is asked here'));
}

const CODES: Record<FailureKind, FailureCode> = {
  error: 'server_error',
  unreachable: 'unreachable',
  lost: 'lost',
  cancelled: 'cancelled',
  refused: 'refused',
};

/** Any error of a visit, as what the program says at its end. */
function failureFrom(error: unknown, server: FoundServer, printed: ServerOutput): Error {
  if (error instanceof TaskClientError) {
    const { kind, code, data } = error;
    const details = { ...(code !== undefined && { rpcCode: code }), ...(data !== undefined && { data }) };
    return new Failure(CODES[kind], describe(error, server, printed), details, { cause: error });
  }
  return error instanceof Error ? error : new Failure('unexpected', messageOf(error));
}

function describe(error: TaskClientError, server: FoundServer, printed: ServerOutput): string {
  const { kind, message } = error;
  switch (kind) {
    case 'unreachable': {
      const { reason, fix } = troubleWith(error, server.config);
      return `cannot reach ${at(labelOf(server), server.config)}: ${reason}${fix === undefined ? '' : `\n${fix}`}`;
    }
    case 'lost':
      return [`lost ${labelOf(server)} on the way: ${message}`, ...lastOutput(printed)].join('\n');
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
