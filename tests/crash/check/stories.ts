/** What clients were told, put together: everything about one task, one question, one event. */
import type { Exchange, LoadCall } from '../history.ts';
import { object, type Told, type ToldEvent, type ToldQuestion } from '../told.ts';

/** A request whose reply has arrived. */
export type Answered = Exchange & { received: number; told: Told };

export function answeredOnly(exchanges: readonly Exchange[]): Answered[] {
  return exchanges
    .filter((exchange): exchange is Answered => exchange.told !== undefined)
    .toSorted((a, b) => a.received - b.received);
}

export interface TaskStory {
  id: string;
  client: string;
  /** As far as it was told. */
  server: string;
  tool: string;
  /** The call it was, if the client was told so. */
  call?: LoadCall & { sent: number };
  /** Every telling of its state, in the order in which they arrived. */
  states: TaskState[];
  /** Every telling of its result. */
  results: string[];
  /** Every wish to cancel it, answered or not. */
  cancels: Exchange[];
  /** Whether the last list of all tasks has it. */
  isThereInTheEnd: boolean;
}

export interface TaskState {
  status: string;
  sent: number;
  received: number;
  /** The tool or the event that told it. */
  from: string;
  error?: string;
}

export const hasEnded = (status: string): boolean => status !== 'working';

export const TASK_END = /^task_(completed|failed|cancelled|expired)$/;

export function taskStories(exchanges: readonly Exchange[], answered: readonly Answered[]): TaskStory[] {
  const stories = new Map<string, TaskStory>();
  const lastLists = new Map<string, Answered>();
  for (const exchange of answered) {
    const { client, tool, args, told, sent, received, call } = exchange;
    const at = { sent, received };
    const story = (id: string): TaskStory => {
      const known = stories.get(id) ?? newStory(id, client);
      stories.set(id, known);
      return known;
    };
    for (const { id, status, error, server, tool: of } of told.tasks) {
      const task = story(id);
      task.states.push({ status, ...at, from: tool, ...(error !== undefined && { error }) });
      task.server = server ?? task.server;
      task.tool = of ?? task.tool;
    }
    for (const { type, data } of told.events) {
      const { taskId, error } = data;
      const status = TASK_END.exec(type)?.[1];
      if (status === undefined) continue;
      story(String(taskId)).states.push({ status, ...at, from: type, ...(typeof error === 'string' && { error }) });
    }
    const promoted = object(told.body['proxy_task'])['task_id'];
    if (call !== undefined && typeof promoted === 'string') story(promoted).call = { ...call, sent };
    if (tool === 'get_task_result' && !told.isError && told.tasks.length === 0) {
      const task = story(String(args['task_id']));
      task.states.push({ status: 'completed', ...at, from: tool });
      task.results.push(told.text);
    }
    if (tool === 'list_tasks' && args['include_completed'] === true) lastLists.set(client, exchange);
  }
  for (const exchange of exchanges) {
    if (exchange.tool === 'cancel_task') stories.get(String(exchange.args['task_id']))?.cancels.push(exchange);
  }
  const last = new Set([...lastLists.values()].flatMap(({ told }) => told.tasks.map(({ id }) => id)));
  for (const task of stories.values()) task.isThereInTheEnd = last.has(task.id);
  return [...stories.values()];
}

function newStory(id: string, client: string): TaskStory {
  return { id, client, server: '?', tool: '?', states: [], results: [], cancels: [], isThereInTheEnd: false };
}

export function nameOf({ id, client, server, tool, call }: TaskStory): string {
  return `${client}: task ${id} (${call === undefined ? `${server}.${tool}` : `${call.server}.${call.tool} ${call.label}`})`;
}

export interface QuestionStory {
  question: ToldQuestion;
  client: string;
  /** Every telling that it is open. */
  tellings: { sent: number; received: number }[];
  /** Every answer that was sent, whether or not it was taken. */
  attempts: (Exchange & { acknowledged: boolean })[];
}

export function questionStories(exchanges: readonly Exchange[], answered: readonly Answered[]): QuestionStory[] {
  const stories = new Map<string, QuestionStory>();
  for (const { client, told, sent, received } of answered) {
    for (const question of told.questions) {
      const known = stories.get(question.id) ?? { question, client, tellings: [], attempts: [] };
      stories.set(question.id, known);
      known.tellings.push({ sent, received });
    }
  }
  for (const exchange of exchanges) {
    if (!exchange.tool.startsWith('respond_to_')) continue;
    const acknowledged = exchange.told?.body['success'] === true;
    stories.get(String(exchange.args['request_id']))?.attempts.push({ ...exchange, acknowledged });
  }
  return [...stories.values()];
}

export const firstTold = ({ tellings }: QuestionStory): number => tellings[0]?.received ?? 0;

export interface EventStory {
  event: ToldEvent;
  client: string;
  tellings: { marked: boolean; exchange: Answered }[];
}

export function eventStories(answered: readonly Answered[]): EventStory[] {
  const stories = new Map<string, EventStory>();
  for (const exchange of answered) {
    for (const event of exchange.told.events) {
      const known = stories.get(event.id) ?? { event, client: exchange.client, tellings: [] };
      stories.set(event.id, known);
      known.tellings.push({ marked: event.maybeSeen === true, exchange });
    }
  }
  return [...stories.values()];
}
