import { setTimeout as delay } from 'node:timers/promises';
import { flood } from './flood.ts';
import { BROKEN_QUESTIONS, silence, text, type Json, type Lie, type Peer } from './peer.ts';

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

export function legacyTask(taskId: string, status = 'working'): Json {
  const now = new Date().toISOString();
  return { taskId, status, createdAt: now, lastUpdatedAt: now, ttl: null, pollInterval: 20 };
}

/** Makes a task, as it should. */
const create: Lie['call'] = (peer, { taskId }) => peer.reply({ task: legacyTask(taskId) });

const tell =
  (status: string): NonNullable<Lie['get']> =>
  (peer, taskId) =>
    peer.reply(legacyTask(taskId, status));

async function askBroken(peer: Peer, how: unknown, more: Json = {}): Promise<void> {
  const params = BROKEN_QUESTIONS[String(how)] as Json;
  peer.reply(text(JSON.stringify(await peer.ask('elicitation/create', { ...params, ...more }))));
}

const HOW = new Map<string, unknown>();
const OVERTAKEN = new Map<string, () => void>();

/** Tools of a server that declares tasks of the 2025-11-25 protocol. */
export const LEGACY_LIES: Record<string, Lie> = {
  echo: { call: (peer, { args }) => peer.reply(text(String(args['text']))) },
  honest: { taskSupport: 'required', call: create },

  /** No lie: a task may have ended before anybody can ask about it. */
  born_completed: {
    taskSupport: 'required',
    call: (peer, { taskId }) => peer.reply({ task: legacyTask(taskId, 'completed') }),
  },

  late_birth: {
    taskSupport: 'required',
    call: async (peer, call) => {
      await delay(300);
      await create(peer, call);
    },
    get: tell('working'),
  },
  self_cancelled: {
    taskSupport: 'required',
    call: create,
    get: (peer, taskId) => peer.reply({ ...legacyTask(taskId, 'cancelled'), statusMessage: 'closing time' }),
  },
  odd_poll: {
    taskSupport: 'required',
    call: (peer, { taskId, args }) => peer.reply({ task: { ...legacyTask(taskId), pollInterval: args['interval'] } }),
  },

  /** No lie: the answer to a look may be on its way while the result arrives. Its second look is answered after the result. */
  overtaken: {
    taskSupport: 'required',
    call: create,
    get: (peer, taskId, poll) => {
      if (poll === 1) peer.reply(legacyTask(taskId, 'input_required'));
      else if (poll === 2) OVERTAKEN.set(taskId, () => peer.reply(legacyTask(taskId, 'working')));
      else peer.reply(legacyTask(taskId, 'completed'));
    },
    result: async (peer, taskId) => {
      while (!OVERTAKEN.has(taskId)) await delay(5);
      peer.reply(text('in the end'));
      OVERTAKEN.get(taskId)?.();
    },
  },

  plain_answer: { taskSupport: 'required', call: (peer) => peer.reply(text('plain')) },
  unasked_task: { call: create },
  get_unknown: {
    taskSupport: 'required',
    call: create,
    get: (peer) => peer.fail(-32601, 'Method not found'),
  },
  get_silent: { taskSupport: 'required', call: create, get: silence },
  result_silent: { taskSupport: 'required', call: create, get: tell('completed'), result: silence },
  vanishing: {
    taskSupport: 'required',
    call: create,
    get: (peer, taskId, poll) =>
      poll > 3 ? peer.fail(-32602, `Task not found: ${taskId}`) : peer.reply(legacyTask(taskId)),
  },
  other_task: { taskSupport: 'required', call: create, get: (peer) => peer.reply(legacyTask('another')) },
  unknown_status: { taskSupport: 'required', call: create, get: tell('pondering') },
  unknown_status_at_once: {
    taskSupport: 'required',
    call: (peer, { taskId }) => peer.reply({ task: legacyTask(taskId, 'pondering') }),
  },
  no_task_id: {
    taskSupport: 'required',
    call: (peer, call) => {
      const { taskId: _taskId, ...task } = legacyTask(call.taskId);
      peer.reply({ task });
    },
  },
  no_task: { taskSupport: 'required', call: (peer) => peer.reply({ task: 'soon' }) },
  no_result: { call: (peer) => peer.reply('done') },
  no_content: { call: (peer) => peer.reply({ words: 'done' }) },

  broken_question: { call: (peer, { args }) => askBroken(peer, args['how']) },
  broken_question_task: {
    taskSupport: 'required',
    call: (peer, call) => {
      HOW.set(call.taskId, call.args['how']);
      return create(peer, call);
    },
    get: tell('input_required'),
    result: (peer, taskId) => askBroken(peer, HOW.get(taskId), { _meta: { [RELATED_TASK]: { taskId } } }),
  },
  flood,
};
