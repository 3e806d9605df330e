import type { ServerConfig } from '../../../../src/core/ports/server-config.ts';
import type { Json } from '../../../support/hub.ts';
import { nameIn } from './answers.ts';
import type { Via } from './cells.ts';

export interface Asked {
  method: string;
  /** Who the question is about. */
  name: string;
  via: Via;
  /** Who the call is about that it was said to belong to, where the client can know. */
  callOf?: string | undefined;
}

export interface CallOptions {
  /** Aborted by a user who no longer wants the call: the client cancels as its kind does. */
  signal?: AbortSignal;
  onProgress?: (message: string | undefined) => void;
}

export interface Called {
  content: unknown;
  isError: boolean;
  /** Whether the client was given a task for it. */
  asTask: boolean;
}

/** A client of any kind. It answers every question itself, if its kind can be asked. */
export interface MatrixClient {
  call(tool: string, args?: Json, options?: CallOptions): Promise<Called>;
  /** What it was asked, in order. */
  readonly asked: Asked[];
  /** The process it talks to, over stdio. */
  pid(): number | undefined;
  /** Leaves as its kind does, its session ended where there is one. */
  close(): Promise<void>;
}

/** Sends the requests of a client, where it does not do so itself. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export type Open = (config: ServerConfig, fetch?: Fetch) => Promise<MatrixClient>;

export const INFO = { name: 'matrix', version: '1.0.0' };

export function calledWith(result: Json, asTask: boolean): Called {
  return { content: result['content'], isError: result['isError'] === true, asTask };
}

export function note(method: string, params: Json, via: Via, callOf?: string): Asked {
  return { method, name: nameIn(params), via, callOf };
}
