/** Whoever sits in front of a client: sees what the client is asked, and answers when the test says so. */
import { expect, vi } from 'vitest';
import type { Json } from '../../support/hub.ts';

export interface Asked {
  method: string;
  params: Json;
  /** Aborted when the answer is not wanted any more. */
  withdrawn: AbortSignal;
  answer: (answer: Json) => void;
  /** The client answers with an error. */
  refuse: (error: Error) => void;
}

export class Person {
  readonly asked: Asked[] = [];

  /** The client hands over what it is asked. */
  async take(method: string, params: Json, withdrawn: AbortSignal): Promise<Json> {
    return new Promise((resolve, reject) => {
      this.asked.push({ method, params, withdrawn, answer: resolve, refuse: reject });
    });
  }

  /** The question with that number, as soon as it is there. */
  async question(number = 0): Promise<Asked> {
    return vi.waitFor(
      () => {
        const asked = this.asked[number];
        expect(asked, `nobody was asked question ${number}`).toBeDefined();
        return asked as Asked;
      },
      { timeout: 10_000 },
    );
  }

  async accepts(content: Json, number = 0): Promise<void> {
    (await this.question(number)).answer({ action: 'accept', content });
  }
}
