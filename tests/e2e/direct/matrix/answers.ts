/** What is asked in the matrix, and what everybody answers: each question names who it is about. */
import type { Json } from '../../../support/hub.ts';

/** For questions that name nobody. */
export const NOBODY = 'Nobody';

export const AGE = 36;

export const whoIs = (name: string): string => `Who is ${name}?`;

export const describe = (name: string): string => `Describe ${name}!`;

export const described = (name: string): string => `${name}, described`;

/** Who a question, or a call that will ask one, is about. */
export function nameIn(params: Json): string {
  return /(?:Who is|Describe) (\w+)[?!]/.exec(JSON.stringify(params))?.[1] ?? NOBODY;
}

export function answerTo(method: string, params: Json): Json {
  switch (method) {
    case 'elicitation/create':
      return { action: 'accept', content: formFilledIn(params) };
    case 'sampling/createMessage':
      return { model: 'matrix', role: 'assistant', content: { type: 'text', text: described(nameIn(params)) } };
    default:
      throw new Error(`nobody answers ${method}`);
  }
}

/** A form has one field: a name or an age. */
export function formFilledIn(params: Json): Record<string, string | number> {
  const { properties = {} } = (params['requestedSchema'] ?? {}) as { properties?: Json };
  return 'age' in properties ? { age: AGE } : { name: nameIn(params) };
}
