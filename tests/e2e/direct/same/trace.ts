import { setTimeout as delay } from 'node:timers/promises';
import type { Json } from '../../../servers/rich/wire.ts';
import type { Act, Step } from './script.ts';
import type { Said, WireClient } from './wire-client.ts';

/** What a client got for one step. */
export interface Exchange {
  /** `result` or `error`, where there was a request. */
  readonly reply?: Json;
  /** What else it was told since the step before. */
  readonly said: readonly Said[];
}

export type Trace = Record<string, Exchange>;

const PATIENCE_MS = 2000;

/** Goes through the script; `due` says how many notifications of a step are worth waiting for. */
export async function play(client: WireClient, script: readonly Step[], due: (step: Step) => number): Promise<Trace> {
  const trace: Trace = {};
  let before = 0;
  for (const step of script) {
    const act = step[client.era];
    const reply = act && (await perform(client, step.name, act, trace));
    await arrived(client, before + due(step));
    const said = client.said.slice(before);
    before += said.length;
    trace[step.name] = { ...(reply && { reply }), said };
  }
  return trace;
}

async function perform(client: WireClient, name: string, act: Act, trace: Trace): Promise<Json | undefined> {
  switch (act.do) {
    case 'hello':
      return client.hello();
    case 'request':
      return request(client, name, act, trace);
    case 'notify':
      await client.notify(act.method, act.params);
      return undefined;
    case 'listen':
      await client.listen(act.id, act.notifications);
      return undefined;
    case 'hang up':
      await client.hangUp();
      return undefined;
  }
}

async function request(
  client: WireClient,
  name: string,
  { method, params, until = () => true }: Extract<Act, { do: 'request' }>,
  trace: Trace,
): Promise<Json> {
  const given = typeof params === 'function' ? params(trace) : params;
  const end = Date.now() + PATIENCE_MS;
  for (let attempt = 1; ; attempt += 1) {
    const reply = await client.request(attempt === 1 ? name : `${name} ${attempt}`, method, given);
    if (until(reply) || Date.now() > end) return reply;
    await delay(10);
  }
}

/** Gives up without a word: what is missing shows in the comparison. */
async function arrived({ said }: WireClient, count: number): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (said.length < count && Date.now() < end) await delay(2);
}
