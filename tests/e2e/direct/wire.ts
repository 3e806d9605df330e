/** What the clients by hand have in common. */
import type { Json } from '../../support/hub.ts';
import { resultIn, type Answered, type Failure } from './answered.ts';

export interface WireOptions {
  capabilities?: Json;
  /** The name of the client program; `null` for one that does not name itself. */
  program?: string | null;
  /** Sent with every request. */
  headers?: Record<string, string>;
}

export abstract class Wire {
  abstract send(method: string, params?: Json): Promise<Answered>;

  async request(method: string, params: Json = {}): Promise<Json> {
    return resultIn(await this.send(method, params));
  }

  /** The error that a request ends with. */
  async error(method: string, params: Json = {}): Promise<Failure | undefined> {
    return (await this.send(method, params)).error;
  }

  async call(tool: string, args: Json = {}, more: Json = {}): Promise<Json> {
    return this.request('tools/call', { name: tool, arguments: args, ...more });
  }
}
