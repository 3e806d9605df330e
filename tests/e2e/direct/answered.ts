/** What a request ended with, for clients by hand. */
import type { Json } from '../../support/hub.ts';
import type { RawAnswer } from '../../support/raw-http.ts';

export interface Failure {
  code: number;
  message: string;
  data?: Json;
}

export interface Answered {
  status: number;
  result?: Json;
  error?: Failure;
}

export function answeredIn({ status, json }: RawAnswer): Answered {
  return { status, ...(json as { result?: Json; error?: Failure }) };
}

export function resultIn({ status, result, error }: Answered): Json {
  if (result !== undefined) return result;
  throw new Error(error === undefined ? `HTTP ${status}` : `${error.code} ${error.message}`);
}

/** The text of a result of a call. */
export function textOf({ content }: Json): unknown {
  return (content as { text?: unknown }[] | undefined)?.[0]?.text;
}

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
