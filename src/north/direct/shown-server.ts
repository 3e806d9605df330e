import { Server } from '@modelcontextprotocol/server';
import type { Face } from './face.ts';

const INTRODUCTIONS = new Set(['initialize', 'server/discover']);

type Handler = Parameters<Server['_wrapHandler']>[1];

/** A protocol object that introduces itself with all that the server behind it says of itself. */
export class ShownServer extends Server {
  readonly #more: Record<string, unknown>;

  constructor({ implementation, capabilities, instructions, more }: Face) {
    super(implementation, { capabilities, ...(instructions !== undefined && { instructions }) });
    this.#more = more;
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler);
    if (!INTRODUCTIONS.has(method)) return wrapped;
    return async (request, context) => ({ ...this.#more, ...(await wrapped(request, context)) });
  }
}
