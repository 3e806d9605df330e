import { ScriptedBackends, type ScriptedCall, type ScriptedConnection } from '../support/scripted-connection.ts';
import { connectionContract, type ContractServer } from './connection.contract.ts';

const TRAITS = { principal: 'local', addedBy: 'client' as const, roots: false, preferences: { uris: [] } };

/** A server of the contract that plays its part at once, where the contract does not want it to wait. */
function scripted(prepare: (backends: ScriptedBackends) => void): () => Promise<ContractServer> {
  return async () => {
    const backends = new ScriptedBackends();
    prepare(backends);
    return {
      connect: (sink) => backends.connect('one', { url: 'http://one.test/' }, sink, TRAITS),
      kill: async () => {
        backends.unreachable = 'it is gone';
        backends.last.lose('it is gone');
      },
      start: async () => {
        backends.unreachable = undefined;
        backends.last.comeBack();
      },
    };
  };
}

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

function work(call: ScriptedCall, text: string): void {
  const { ms, steps } = call.outgoing.args;
  const isLong = numberOf(ms) > 1000;
  const total = numberOf(steps);
  for (let step = 1; step <= (isLong ? Math.min(1, total) : total); step += 1)
    call.progress(step, total, `step ${step}`);
  if (!isLong) call.answer(text);
}

async function greet(call: ScriptedCall): Promise<void> {
  const { message = 'What is your name?' } = call.outgoing.args;
  const answer = await call.ask({ message }).catch(() => ({}));
  const { name } = ('content' in answer ? answer.content : {}) as { name?: string };
  call.answer(`Hello ${name}`);
}

/** A task that ends as soon as a second call follows it. */
async function workAsTask(call: ScriptedCall, ended: Map<string, string>): Promise<void> {
  const { ms, text } = call.outgoing.args;
  if (call.resumedFrom !== undefined) {
    const kept = ended.get('task');
    if (kept === undefined) call.end({ kind: 'cancelled', reason: 'the task was cancelled' });
    else call.answer(kept);
    return;
  }
  if (numberOf(ms) < 1000) ended.set('task', String(text));
  await call.keepAsTask();
  if (numberOf(ms) < 100) call.answer(String(text));
}

function change(call: ScriptedCall, { subscribed, say }: Pick<ScriptedConnection, 'subscribed' | 'say'>): void {
  for (const uri of call.outgoing.args['what'] as string[]) {
    if (subscribed.has(uri)) say('notifications/resources/updated', { uri });
  }
  call.answer('changed');
}

connectionContract('scripted', {
  plain: scripted(({ tools }) => {
    tools['echo'] = (call) => call.answer(String(call.outgoing.args['text']));
    tools['slow'] = (call) => work(call, 'done');
    tools['ask'] = (call) => void greet(call);
    tools['rpc_error'] = (call) =>
      call.end({ kind: 'error', error: { code: -32011, message: 'quota used up', data: { retryAfter: 7 } } });
  }),
  talkative: scripted((backends) => {
    const { tools, methods } = backends;
    methods['vendor/heard'] = () => ({ heard: backends.last.told });
    methods['tools/list'] = () => ({ tools: [] });
    tools['change'] = (call) => {
      const { last } = backends;
      change(call, { subscribed: last.subscribed, say: (...what) => last.say(...what) });
    };
  }),
  withTasks: scripted(({ tools }) => {
    const ended = new Map<string, string>();
    tools['slow'] = (call) => void workAsTask(call, ended);
  }),
  unreachable: scripted((backends) => {
    backends.unreachable = 'connection refused';
  }),
});
