/** The hub as the door beside a direct endpoint: who sits there answers what its clients cannot be asked. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { hubOverHttp, type HubClient, type Json } from '../../../support/hub.ts';
import { defer } from '../../../support/owned.ts';
import { soon, tasksOf } from '../../flows/watch.ts';
import { answerTo, formFilledIn } from './answers.ts';
import { note, type Asked } from './client.ts';

export interface Desk {
  asked: Asked[];
  /** Answers everything from now on, until the test is over. */
  answer(): void;
  /** Finds the only call of a tool that still works, and cancels it. */
  cancel(tool: string): Promise<void>;
  /** Nothing waits for an answer, and no task works. */
  isClear(): Promise<void>;
}

const LOOK_MS = 20;

export async function deskAt(url: string): Promise<Desk> {
  // Without a session of its own it is the same principal as whoever else comes without a token.
  const hub = await hubOverHttp(url, 'modern');
  const asked: Asked[] = [];
  return {
    asked,
    answer: () => {
      const done = new AbortController();
      const work = sit(hub, asked, done.signal);
      defer(async () => {
        done.abort();
        await work;
      });
    },
    cancel: async (tool) => {
      const working = async (): Promise<Json[]> =>
        (await tasksOf(hub, {})).filter((task) => task['tool'] === tool && task['status'] === 'working');
      await soon(async () => (await working()).length).toBe(1);
      const [task] = await working();
      const { body } = await hub.call('cancel_task', { task_id: task?.['task_id'] });
      expect(body).toMatchObject({ success: true });
    },
    isClear: async () => {
      expect((await hub.call('get_elicitations')).body).toEqual({ elicitations: [] });
      expect((await hub.call('get_sampling_requests')).body).toEqual({ sampling_requests: [] });
      expect(await tasksOf(hub, {})).toEqual([]);
    },
  };
}

async function sit(hub: HubClient, asked: Asked[], done: AbortSignal): Promise<void> {
  const answered = new Set<unknown>();
  const isNew = ({ requestId }: Json): boolean => !answered.has(requestId) && answered.add(requestId).size > 0;
  while (!done.aborted) {
    const { elicitations } = (await hub.call('get_elicitations')).body as { elicitations: Json[] };
    for (const question of elicitations.filter(isNew)) {
      asked.push(note('elicitation/create', question, 'hub'));
      const content = formFilledIn(question);
      await hub.call('respond_to_elicitation', { request_id: question['requestId'], action: 'accept', content });
    }
    const { sampling_requests: samplings } = (await hub.call('get_sampling_requests')).body as {
      sampling_requests: Json[];
    };
    for (const question of samplings.filter(isNew)) {
      const params = question['params'] as Json;
      asked.push(note('sampling/createMessage', params, 'hub'));
      await hub.call('respond_to_sampling', {
        request_id: question['requestId'],
        ...answerTo('sampling/createMessage', params),
      });
    }
    await delay(LOOK_MS);
  }
}
