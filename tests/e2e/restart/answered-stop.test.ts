import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startTasksV1Http } from '../../servers/tasks-v1-http.ts';
import { startTasksV2Http } from '../../servers/tasks-v2-http.ts';
import { startV2Http } from '../../servers/v2-http.ts';
import { httpGateway, temporaryFolder, type Servers, type TestGateway } from '../../support/gateway.ts';
import { taskIdOf } from '../../support/hub.ts';
import { owned } from '../../support/owned.ts';
import { post, rawSession, replyOf, toolCall } from '../../support/raw-http.ts';

// The servers of the SDK that keep tasks add one listener for each look at a task that somebody waits for.
setMaxListeners(0);

const QUESTIONS = 3;

const START = { core: startTasksV1Http, ext: startTasksV2Http, rounds: () => startV2Http({ era: 'modern' }) };
/** Stops after 0, 1, 2 … turns of the event loop; only answers in rounds are nowhere but in the gateway. */
const STOPS = { core: 4, ext: 4, rounds: 20 };

interface Asked {
  name: string;
  taskId: string;
  requestId: string;
}

/** One client of a gateway that stops and starts again on the same store. */
class Scene {
  gateway: TestGateway;
  readonly #servers: Servers;
  readonly #store: string;
  readonly #headers: Record<string, string>;
  #lastId = 0;

  private constructor(gateway: TestGateway, servers: Servers, store: string, headers: Record<string, string>) {
    this.gateway = gateway;
    this.#servers = servers;
    this.#store = store;
    this.#headers = headers;
  }

  static async open(servers: Servers): Promise<Scene> {
    const store = join(await temporaryFolder(), 'store.db');
    const gateway = await httpGateway(servers, { store });
    const { headers } = await rawSession(gateway.url);
    return new Scene(gateway, servers, store, headers);
  }

  async call(tool: string, args: Record<string, unknown>) {
    this.#lastId += 1;
    return replyOf(await post(this.gateway.url, toolCall(tool, args, this.#lastId), this.#headers));
  }

  async ask(name: string): Promise<Asked> {
    const args = { message: name };
    const reply = await this.call('execute_tool', { server: 'far', tool: 'ask', args, timeout_ms: 15_000 });
    const taskId = taskIdOf(reply);
    const question = reply.elicitations.find((each) => each.taskId === taskId);
    return { name, taskId, requestId: question?.requestId ?? '' };
  }

  /** Whether the gateway acknowledged the answer. */
  async answer({ name, requestId }: Asked): Promise<boolean> {
    const args = { request_id: requestId, action: 'accept', content: { name } };
    return this.call('respond_to_elicitation', args).then(
      ({ body }) => body['success'] === true,
      () => false,
    );
  }

  async restart(): Promise<void> {
    await this.gateway.close();
    this.gateway = await httpGateway(this.#servers, { store: this.#store });
  }
}

test.each(['core', 'ext', 'rounds'] as const)(
  'P-2, S-4: no acknowledged answer is lost when the gateway stops: %s',
  async (kind) => {
    const server = owned(await START[kind]());
    const scene = await Scene.open({ far: { url: server.url } });
    let acknowledged = 0;
    for (let turns = 0; turns < STOPS[kind]; turns += 1) {
      const names = Array.from({ length: QUESTIONS }, (_, index) => `n${turns}-${index}`);
      const asked = await Promise.all(names.map((name) => scene.ask(name)));
      const answers = asked.map((each) => scene.answer(each));
      await Promise.race(answers);
      for (let turn = 0; turn < turns; turn += 1) await nextTurn();
      const [isAcknowledged] = await Promise.all([Promise.all(answers), scene.restart()]);
      for (const [index, { name, taskId }] of asked.entries()) {
        if (!isAcknowledged[index]) continue;
        acknowledged += 1;
        const { text } = await scene.call('get_task_result', { task_id: taskId, timeout_ms: 10_000 });
        expect(text, `stopped after ${turns} turns`).toBe(`Hello ${name}`);
      }
    }
    expect(acknowledged).toBeGreaterThanOrEqual(STOPS[kind]);
  },
  120_000,
);
