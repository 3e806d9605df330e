import { flood } from './flood.ts';
import { brokenQuestion, nameQuestion, silence, text, type Call, type Json, type Lie } from './peer.ts';

export function modernTask(taskId: string, status = 'working', more: Json = {}): Json {
  const now = new Date().toISOString();
  return { taskId, status, createdAt: now, lastUpdatedAt: now, ttlMs: 600_000, pollIntervalMs: 20, ...more };
}

/** Makes a task, as it should. */
const create: Lie['call'] = (peer, { taskId }) => peer.reply({ resultType: 'task', ...modernTask(taskId) });

const tell =
  (status: string, more: Json = {}): NonNullable<Lie['get']> =>
  (peer, taskId) =>
    peer.reply({ resultType: 'complete', ...modernTask(taskId, status, more) });

const asking = (inputRequests: unknown): Json => ({ inputRequests });

const acknowledge: Lie['update'] = (peer) => peer.reply({ resultType: 'complete' });

/** Answers so far, for each task. */
const answers = new Map<string, Json[]>();

const remember: Lie['update'] = (peer, taskId, responses) => {
  answers.set(taskId, [...(answers.get(taskId) ?? []), responses]);
  peer.reply({ resultType: 'complete' });
};

const calls = new Map<string, Call>();

/** Tools of a server that declares the tasks extension. */
export const MODERN_LIES: Record<string, Lie> = {
  echo: { call: (peer, { args }) => peer.reply({ resultType: 'complete', ...text(String(args['text'])) }) },
  honest: { call: create },

  /** No lies: a task may have ended, or may ask, before anybody can ask about it. */
  born_completed: {
    call: (peer, { taskId }) => peer.reply({ resultType: 'task', ...modernTask(taskId, 'completed') }),
  },
  born_failed: {
    call: (peer, { taskId }) => peer.reply({ resultType: 'task', ...modernTask(taskId, 'failed') }),
    get: tell('failed', { error: { code: -32011, message: 'quota used up' } }),
  },
  born_asking: {
    call: (peer, { taskId }) => {
      const pollIntervalMs = 60_000;
      peer.reply({ resultType: 'task', ...modernTask(taskId, 'input_required', { pollIntervalMs }) });
    },
    get: (peer, taskId, poll) => {
      const given = answers.get(taskId);
      if (given) tell('completed', { result: text(JSON.stringify(given)) })(peer, taskId, poll);
      else tell('input_required', asking({ key: nameQuestion('Well?') }))(peer, taskId, poll);
    },
    update: remember,
  },

  self_cancelled: { call: create, get: tell('cancelled', { statusMessage: 'closing time' }) },
  odd_poll: {
    call: (peer, { taskId, args }) =>
      peer.reply({ resultType: 'task', ...modernTask(taskId, 'working', { pollIntervalMs: args['interval'] }) }),
  },

  get_unknown: { call: create, get: (peer) => peer.fail(-32601, 'Method not found') },
  get_silent: { call: create, get: silence },
  vanishing: {
    call: create,
    get: (peer, taskId, poll) =>
      poll > 3 ? peer.fail(-32602, `Task not found: ${taskId}`) : tell('working')(peer, taskId, poll),
  },
  other_task: { call: create, get: (peer, _taskId, poll) => tell('working')(peer, 'another', poll) },
  unknown_status: { call: create, get: tell('pondering') },
  unknown_status_at_once: {
    call: (peer, { taskId }) => peer.reply({ resultType: 'task', ...modernTask(taskId, 'pondering') }),
  },
  no_task_id: {
    call: (peer, call) => {
      const { taskId: _taskId, ...task } = modernTask(call.taskId);
      peer.reply({ resultType: 'task', ...task });
    },
  },
  no_result: { call: create, get: tell('completed') },
  no_error: { call: create, get: tell('failed', { statusMessage: 'it broke' }) },
  unknown_result_type: { call: (peer) => peer.reply({ resultType: 'riddle', ...text('?') }) },

  /** The same key for another question, once the first is answered. */
  reused_key: {
    call: create,
    get: (peer, taskId, poll) => {
      const message = answers.has(taskId) ? 'And the second?' : 'The first?';
      tell('input_required', asking({ key: nameQuestion(message) }))(peer, taskId, poll);
    },
    update: remember,
  },
  /** Takes the answer and goes on asking. */
  deaf: { call: create, get: tell('input_required', asking({ key: nameQuestion('Well?') })), update: acknowledge },
  /** Refuses the answer. */
  refusing: {
    call: create,
    get: tell('input_required', asking({ key: nameQuestion('Well?') })),
    update: (peer) => peer.fail(-32603, 'no answers today'),
  },
  /** Waits for input that it does not name. */
  asking_nothing: { call: create, get: tell('input_required') },
  listed_questions: { call: create, get: tell('input_required', asking([nameQuestion('Well?')])) },
  listed_round: {
    call: (peer) => peer.reply({ resultType: 'input_required', ...asking([nameQuestion('Well?')]) }),
  },
  endless_rounds: { call: (peer) => peer.reply({ resultType: 'input_required', requestState: 'again' }) },

  broken_question: {
    call: (peer, call) => {
      if (call.inputResponses !== undefined) {
        peer.reply({ resultType: 'complete', ...text(JSON.stringify(call.inputResponses)) });
      } else peer.reply({ resultType: 'input_required', ...asking({ key: brokenQuestion(call) }) });
    },
  },
  broken_question_task: {
    call: (peer, call) => {
      calls.set(call.taskId, call);
      return create(peer, call);
    },
    get: (peer, taskId, poll) => {
      const call = calls.get(taskId);
      const given = answers.get(taskId);
      if (given !== undefined) tell('completed', { result: text(JSON.stringify(given)) })(peer, taskId, poll);
      else if (call) tell('input_required', asking({ key: brokenQuestion(call) }))(peer, taskId, poll);
    },
    update: remember,
  },
  flood,
};
