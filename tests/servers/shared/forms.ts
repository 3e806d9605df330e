/** The forms that test servers ask with, and what they make of the answers. */
import type { ElicitRequestFormParams, ElicitResult } from '@modelcontextprotocol/sdk/types.js';

/** People take their time; the default of the SDKs is one minute. */
export const HUMAN_TIMEOUT = 600_000;

export function nameForm(message = 'What is your name?', field = 'name'): ElicitRequestFormParams {
  return {
    mode: 'form',
    message,
    requestedSchema: {
      type: 'object',
      properties: { [field]: { type: 'string', title: 'Name', minLength: 1 } },
      required: [field],
    },
  };
}

export const AGE_FORM: ElicitRequestFormParams = {
  mode: 'form',
  message: 'How old are you?',
  requestedSchema: {
    type: 'object',
    properties: { age: { type: 'integer', title: 'Age', minimum: 0, maximum: 150 } },
    required: ['age'],
  },
};

export function refusal(result: ElicitResult): 'declined' | 'cancelled' | undefined {
  switch (result.action) {
    case 'accept':
      return undefined;
    case 'decline':
      return 'declined';
    case 'cancel':
      return 'cancelled';
  }
}

export function greeting(result: ElicitResult, field = 'name'): string {
  return refusal(result) ?? `Hello ${String(result.content?.[field])}`;
}
