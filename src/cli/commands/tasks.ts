import { asTold, TaskClientError } from '../../client/task-client-error.ts';
import type { Task } from '../../client/types.ts';
import { readAllPages } from '../../lib/pages.ts';
import { INVALID_PARAMS } from '../../lib/rpc-error.ts';
import { suggestedCommand } from '../suggested-command.ts';
import { showAge, showDuration } from '../units.ts';
import { Failure, RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { followCall } from '../follow-call.ts';
import { PreparedAnswers } from '../questions/prepared.ts';
import { cleanLine } from '../../lib/clean.ts';
import { table } from '../terminal/layout.ts';
import { withServer, type ServerSession } from '../server/session.ts';
import { showOutcome } from './call.ts';

type Action = (session: ServerSession, taskId: string, answers: PreparedAnswers) => Promise<number>;

const ACTIONS = new Map<string, Action>([
  ['list', list],
  ['get', get],
  ['result', result],
  ['cancel', cancel],
  ['watch', watch],
]);

/** In requests about a task, its id is the only parameter. */
const UNKNOWN_TASK = INVALID_PARAMS;

export async function tasks(line: CommandLine): Promise<number> {
  const [name, server, taskId, extra] = line.operands;
  const action = name === undefined ? undefined : ACTIONS.get(name);
  if (action === undefined || server === undefined || extra !== undefined) {
    throw new UsageError('expected meanwhile tasks list|get|result|cancel|watch <server> [task id]');
  }
  if ((action === list) !== (taskId === undefined)) {
    throw new UsageError(
      action === list ? `unexpected argument '${taskId}'` : `which task? meanwhile tasks ${name} ${server} <task id>`,
    );
  }
  const answers = new PreparedAnswers(line.flags.answer);
  return withServer(line, server, async (session) =>
    action(session, taskId ?? '', answers).catch((error: unknown) => {
      throw withSessionHint(withHubHint(error, session, name ?? '', taskId), session);
    }),
  );
}

/** The hub offers its tasks through tools. */
const HUB_TOOLS = new Map([
  ['list', 'list_tasks'],
  ['get', 'get_task'],
  ['result', 'get_task_result'],
  ['watch', 'get_task_result'],
  ['cancel', 'cancel_task'],
]);

function withHubHint(error: unknown, { info, server, flags }: ServerSession, action: string, taskId?: string): unknown {
  const isHub = info.implementation?.name === 'meanwhile' && info.tasks === undefined;
  if (!isHub || !(error instanceof TaskClientError) || error.kind !== 'refused') return error;
  const operands = [HUB_TOOLS.get(action) ?? '', ...(taskId === undefined ? [] : [`task_id=${taskId}`])];
  const command = suggestedCommand('call', server.name, operands, flags);
  return new TaskClientError('refused', `this is a Meanwhile hub, which offers its tasks through tools: ${command}`);
}

/** An unknown task may belong to another session. */
function withSessionHint(error: unknown, { client, flags }: ServerSession): unknown {
  if (!(error instanceof TaskClientError) || error.code !== UNKNOWN_TASK || client.sessionId === undefined)
    return error;
  if (flags.session === client.sessionId) return error;
  const hint =
    flags.session === undefined
      ? 'this server may keep tasks per session: pass the session of the task with --session ID'
      : `the server no longer knows the session '${cleanLine(flags.session)}' and its tasks`;
  const { kind, message, code, data } = error;
  return new TaskClientError(kind, `${message}\n${hint}`, { code, data });
}

async function list({ client, screen, stop, label }: ServerSession): Promise<number> {
  const pages = readAllPages(async ({ cursor }) => client.listTasks(cursor), 'tasks/list', 'tasks');
  const all = (await stop.unless(asTold(pages))) as unknown as Task[];
  const rows = all.map((task) => [cleanLine(task.taskId), task.status, age(task), cleanLine(task.statusMessage ?? '')]);
  screen.printList({ tasks: all }, rows, `${label} lists no tasks`);
  return RESULT;
}

async function get({ client, screen, stop }: ServerSession, taskId: string): Promise<number> {
  const task = await stop.unless(client.getTask(taskId));
  if (screen.json) screen.printJson(task);
  else {
    const rows = Object.entries(task).map(([key, value]) => [cleanLine(key), shown(value)]);
    screen.printOwn(table(rows));
  }
  return RESULT;
}

/** All numbers of a task are durations; null means no limit. */
function shown(value: string | number | null): string {
  if (typeof value === 'string') return cleanLine(value);
  if (value === null) return 'no limit';
  return value < 1000 ? `${value} ms` : `${value} ms (${showDuration(value)})`;
}

async function result(
  session: ServerSession,
  taskId: string,
  answers: PreparedAnswers,
  onTask?: (task: Task) => void,
): Promise<number> {
  const outcome = followCall(session, {
    label: `task ${taskId}`,
    start: (signal) => session.client.watchTask(taskId, { signal }),
    taskId,
    answers,
    ...(onTask && { onTask }),
  });
  return showOutcome(session, 'task', answers, outcome);
}

async function watch(session: ServerSession, taskId: string, answers: PreparedAnswers): Promise<number> {
  let shownLast = '';
  return result(session, taskId, answers, ({ status, statusMessage = '' }) => {
    const news = `${status}  ${cleanLine(statusMessage)}`.trim();
    if (news === shownLast) return;
    shownLast = news;
    session.screen.note(`${new Date().toLocaleTimeString(undefined, { hour12: false })}  ${news}`);
  });
}

async function cancel({ client, screen, stop }: ServerSession, taskId: string): Promise<number> {
  await stop.unless(client.cancelTask(taskId));
  // Servers with the tasks extension accept a cancel that comes too late, and may need a moment for it.
  const status = client.getClientTasks().find((task) => task.taskId === taskId)?.status ?? 'cancelled';
  if (status === 'completed' || status === 'failed') {
    throw new Failure('server_error', `the task cannot be cancelled: it is already ${status}`, { taskId, status });
  }
  const cancelled = status === 'cancelled';
  if (screen.json) screen.printJson({ taskId, cancelled, ...(!cancelled && { status }) });
  else
    screen.printOwn(
      cancelled ? `cancelled ${cleanLine(taskId)}` : `asked to cancel ${cleanLine(taskId)}: still ${status}`,
    );
  return RESULT;
}

function age({ createdAt }: Task): string {
  const moment = Date.parse(createdAt);
  return Number.isNaN(moment) ? '' : showAge(moment);
}
