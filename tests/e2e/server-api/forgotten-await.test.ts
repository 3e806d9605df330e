import { expect, test } from 'vitest';
import { createTaskServer, type RunningTask } from '../../../src/server/index.ts';
import { defer, owned } from '../../support/owned.ts';
import { modern } from './wire.ts';

const ELICITATION = { message: 'Anybody?', requestedSchema: { type: 'object', properties: {} } };
const SAMPLING = { messages: [{ role: 'user' as const, content: { type: 'text', text: 'Hi' } }], maxTokens: 1 };

const FORGETFUL: Record<string, (task: RunningTask) => void> = {
  elicit: (task) => void task.elicit(ELICITATION),
  sample: (task) => void task.sample(SAMPLING),
};

test.each(Object.entries(FORGETFUL))(
  'D-1: a handler that does not await its question ends its own call, not the program (%s)',
  async (_method, forget) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    defer(async () => void process.off('unhandledRejection', note));
    const run = (_args: unknown, task: RunningTask): string => {
      forget(task);
      return 'done';
    };
    const url = await owned(createTaskServer({ name: 'app', version: '1.0.0', tools: { tool: { run } } })).listen();
    const params = { name: 'tool' };
    for (let call = 0; call < 2; call += 1) {
      expect(await modern(url, 'tools/call', params)).toMatchObject({ content: [{ text: 'done' }] });
    }
    expect(unhandled).toEqual([]);
  },
);
