import { Server } from '@modelcontextprotocol/server';
import { INTRODUCTIONS } from '../protocol.ts';

type Handler = Parameters<Server['_wrapHandler']>[1];

/** A server that may change the result with which the SDK answers `initialize` and `server/discover`. */
export abstract class AmendedServer extends Server {
  protected abstract amend(introduction: Record<string, unknown>): Record<string, unknown>;

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler);
    if (!INTRODUCTIONS.has(method)) return wrapped;
    return async (request, context) => this.amend(await wrapped(request, context));
  }
}
