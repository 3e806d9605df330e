import type { Task } from '../../client/types.ts';
import { showDuration } from '../duration.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { follow } from '../follow.ts';
import { PreparedAnswers } from '../questions/prepared.ts';
import { cleanLine } from '../terminal/clean.ts';
import { table } from '../terminal/table.ts';
import { visit, type Visit } from '../visit.ts';
import { showOutcome } from './call.ts';

type Action = (stay: Visit, taskId: string, answers: PreparedAnswers) => Promise<number>;

const ACTIONS = new Map<string, Action>([
  ['list', list],
  ['get', get],
  ['result', result],
  ['cancel', cancel],
  ['watch', watch],
]);

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
  return visit(line, server, async (stay) => action(stay, taskId ?? '', answers));
}

async function list({ client, screen, stop, label }: Visit): Promise<number> {
  const all: Task[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await stop.unless(client.listTasks(cursor));
    all.push(...page.tasks);
    cursor = page.nextCursor;
    if (cursor !== undefined && seen.has(cursor)) break;
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
  if (screen.json) screen.printJson({ tasks: all });
  else if (all.length === 0) screen.note(`${label} has no tasks for us`);
  else {
    const rows = all.map((task) => [
      cleanLine(task.taskId),
      task.status,
      age(task),
      cleanLine(task.statusMessage ?? ''),
    ]);
    screen.printOwn(table(rows, process.stdout.isTTY ? process.stdout.columns : undefined));
  }
  return RESULT;
}

async function get({ client, screen, stop }: Visit, taskId: string): Promise<number> {
  const task = await stop.unless(client.getTask(taskId));
  if (screen.json) screen.printJson(task);
  else {
    const rows = Object.entries(task).map(([key, value]) => [
      cleanLine(key),
      cleanLine(typeof value === 'string' ? value : JSON.stringify(value)),
    ]);
    screen.printOwn(table(rows));
  }
  return RESULT;
}

async function result(stay: Visit, taskId: string, answers: PreparedAnswers): Promise<number> {
  const outcome = await follow(stay, {
    label: `task ${taskId}`,
    start: (signal) => stay.client.watchTask(taskId, { signal }),
    whenStopped: 'leave',
    answers,
  });
  return showOutcome(stay, outcome, 'task');
}

async function watch(stay: Visit, taskId: string, answers: PreparedAnswers): Promise<number> {
  let told = '';
  const outcome = await follow(stay, {
    label: `task ${taskId}`,
    start: (signal) => stay.client.watchTask(taskId, { signal }),
    whenStopped: 'leave',
    answers,
    onTask: ({ status, statusMessage = '' }) => {
      const news = `${status}  ${cleanLine(statusMessage)}`.trim();
      if (news === told) return;
      told = news;
      stay.screen.note(`${new Date().toLocaleTimeString(undefined, { hour12: false })}  ${news}`);
    },
  });
  return showOutcome(stay, outcome, 'task');
}

async function cancel({ client, screen, stop }: Visit, taskId: string): Promise<number> {
  await stop.unless(client.cancelTask(taskId));
  if (screen.json) screen.printJson({ taskId, cancelled: true });
  else screen.printOwn(`cancelled ${cleanLine(taskId)}`);
  return RESULT;
}

function age({ createdAt }: Task): string {
  const ms = Date.now() - Date.parse(createdAt);
  return Number.isFinite(ms) ? `${showDuration(Math.max(0, ms))} ago` : '';
}
