import type { JSONRPCRequest } from '@modelcontextprotocol/client';
import type { QuestionKind } from '../core/question/question.ts';

const KINDS: Record<string, QuestionKind> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
};

export function questionKind(method: string): QuestionKind | undefined {
  return Object.hasOwn(KINDS, method) ? KINDS[method] : undefined;
}

/** An error that goes back to the server with its code. */
export class PeerError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export function methodNotFound({ method }: Pick<JSONRPCRequest, 'method'>): PeerError {
  return new PeerError(-32601, `Method not found: ${method}`);
}
