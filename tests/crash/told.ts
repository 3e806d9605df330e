/** What a reply of the hub tells, as plain facts. */

export type Json = Record<string, unknown>;

export interface ToldEvent {
  id: string;
  type: string;
  server: string;
  data: Json;
  maybeSeen?: boolean;
}

export interface ToldTask {
  id: string;
  status: string;
  server?: string;
  tool?: string;
  error?: string;
}

export interface ToldQuestion {
  id: string;
  kind: 'elicitation' | 'sampling';
  server: string;
  /** The message of the form, or what the model is asked. */
  message: string;
  /** The field that the form asks for. */
  field?: string;
  taskId?: string;
}

export interface Told {
  isError: boolean;
  /** Text of the first block. */
  text: string;
  /** The first block that is a JSON object of the tool's own. */
  body: Json;
  events: ToldEvent[];
  tasks: ToldTask[];
  /** Those that are open. */
  questions: ToldQuestion[];
}

export function readReply(result: Json): Told {
  const content = (result['content'] ?? []) as Json[];
  const blocks = content.map(({ text }) => parsed(text)).filter((block) => block !== undefined);
  const ours = (key: string): Json | undefined => blocks.find((block) => key in block);
  const body =
    blocks.find((block) => !('events_since_last_response' in block || 'pending_client_action' in block)) ?? {};
  const pending = object(ours('pending_client_action')?.['pending_client_action']);
  const text = content[0]?.['text'];
  return {
    isError: result['isError'] === true,
    text: typeof text === 'string' ? text : '',
    body,
    events: [
      ...list(body['events']).flatMap((group) => list(group['events'])),
      // What has happened since the reply was made.
      ...list(ours('events_since_last_response')?.['events_since_last_response']),
    ].map(eventOf),
    tasks: tasksIn(body),
    questions: [
      ...list(pending['elicitations']).map(elicitationOf),
      ...list(pending['sampling_requests']).map(samplingOf),
    ],
  };
}

function tasksIn(body: Json): ToldTask[] {
  const error = object(body['error']);
  // One that could not be stored goes on only as long as its gateway.
  const details = error['code'] === 'TOOL_ERR_STORE' ? {} : object(error['details']);
  return [
    ...[body['proxy_task'], body['task'], details['task']].filter((task) => task !== undefined).map(object),
    ...list(body['tasks']),
    ...list(object(body['pending_on_server'])['tasks']),
    ...list(body['pending_server']).flatMap((group) => list(group['working_tasks'])),
  ]
    .map(taskOf)
    .filter(({ id }) => id !== 'undefined');
}

function taskOf(task: Json): ToldTask {
  const error = object(task['error'])['message'];
  return {
    id: String(task['task_id'] ?? task['taskId']),
    status: String(task['status']),
    ...(typeof task['server'] === 'string' && { server: task['server'] }),
    ...(typeof task['tool'] === 'string' && { tool: task['tool'] }),
    ...(typeof error === 'string' && { error }),
  };
}

function eventOf(event: Json): ToldEvent {
  return {
    id: String(event['id']),
    type: String(event['type']),
    server: String(event['server']),
    data: object(event['data']),
    ...(event['maybeSeen'] === true && { maybeSeen: true }),
  };
}

function elicitationOf(question: Json): ToldQuestion {
  const [field] = Object.keys(object(object(question['requestedSchema'])['properties']));
  return {
    id: String(question['requestId']),
    kind: 'elicitation',
    server: String(question['server']),
    message: String(question['message']),
    ...(field !== undefined && { field }),
    ...taskIdOf(question),
  };
}

function samplingOf(question: Json): ToldQuestion {
  const [first] = list(object(question['params'])['messages']);
  return {
    id: String(question['requestId']),
    kind: 'sampling',
    server: String(question['server']),
    message: String(object(first?.['content'])['text']),
    ...taskIdOf(question),
  };
}

function taskIdOf({ taskId }: Json): { taskId?: string } {
  return typeof taskId === 'string' ? { taskId } : {};
}

/** Text that is a JSON object. */
export function parsed(text: unknown): Json | undefined {
  if (typeof text !== 'string' || !text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

export function list(value: unknown): Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}
