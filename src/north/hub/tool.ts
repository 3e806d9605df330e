import type * as z from 'zod';
import type { EventReader } from '../../core/event/reader.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { TraceContext } from '../../core/observer.ts';
import type { Progress } from '../../core/ports/connection.ts';
import type { TokenFacts } from '../../core/ports/identity.ts';
import type { Session } from '../../core/session/session.ts';
import type { CoreSettings } from '../../core/settings.ts';
import type { CallResult } from '../../core/task/task.ts';
import type { Exchange } from '../exchange.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import type { RequestId } from '../message.ts';
import type { ClientPeer } from '../peer.ts';

/** The client of a request. */
export interface HubCaller {
  session: Session;
  exchange: Exchange;
  /** Whether the client may make the gateway start programs. */
  mayRunCommands: boolean;
  /** The reader of the events, if the session has several. */
  reader?: EventReader | undefined;
  asking: Asking;
  /** The facts of the request's token. */
  facts?: TokenFacts | undefined;
  /** Its request already counts towards the limits. */
  isCounted?: true;
  /** The trace context of its request, which is forwarded to servers. */
  trace?: TraceContext | undefined;
  /** The URL to call when the task of the call ends, as given by the client. */
  webhook?: unknown;
}

/** The request that a hub tool serves. */
export interface ToolContext extends HubCaller {
  gateway: Gateway;
  /** Sends progress to the client. */
  onProgress: (progress: Progress) => void;
  /** Other sessions whose state the reply reports. */
  alsoReports?: Session[];
}

/** How a client is asked while its own request is open. */
export type Asking = AskingByRequest | AskingByRound;

/** The client accepts requests on the stream of its own request. */
export interface AskingByRequest {
  by: 'request';
  /** The kinds of questions that it declared. */
  capabilities: Record<string, unknown>;
  peer: ClientPeer;
  on: RequestId;
}

/** The client gets questions instead of the reply, and repeats the request with the answers. */
export interface AskingByRound {
  by: 'round';
  capabilities: Record<string, unknown>;
  /** The task of the call, from the second round on. */
  taskId?: string;
  answers: Record<string, unknown>;
}

export type ContentBlock = Record<string, unknown>;

/** The tool's own part of a reply; the reply builder adds events and pending questions. */
export interface ToolResult {
  content: ContentBlock[];
  isError?: boolean;
  [field: string]: unknown;
}

export type ToolReply =
  /** `ifNotStored`: what the client must know even if the state that the reply reports cannot be stored. */
  | { kind: 'own'; result: ToolResult; ifNotStored?: string }
  /** The result of a server, which reports no state of the gateway. */
  | { kind: 'passed_on'; result: ToolResult }
  /** Questions that the client answers before there is a result. */
  | { kind: 'round'; result: Record<string, unknown> };

export interface Annotations {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

export interface HubTool {
  name: string;
  description: string;
  input: z.ZodObject;
  /** Whether arguments are certainly valid, so that a fast call skips the expensive validation. */
  areValid?: ((given: unknown) => boolean) | undefined;
  /** Default values that depend on the settings. */
  defaults?: ((settings: CoreSettings) => Record<string, number>) | undefined;
  annotations: Annotations;
  /** Its reply shows that servers are connected: the one in its arguments, or all. */
  showsServers?: true | undefined;
  run: (args: unknown, context: ToolContext) => Promise<ToolReply>;
}

/** Ties the argument type of `run` to its schema. */
export function tool<S extends z.ZodObject>(definition: {
  name: string;
  description: string;
  /** Created on first use: creating all schemas would delay the start. */
  input: () => S;
  areValid?: HubTool['areValid'];
  defaults?: HubTool['defaults'];
  annotations: Annotations;
  showsServers?: true;
  run: (args: z.infer<S>, context: ToolContext) => Promise<ToolReply>;
}): HubTool {
  let input: z.ZodObject | undefined;
  return {
    ...definition,
    get input() {
      // Misspelt arguments are errors.
      input ??= definition.input().strict();
      return input;
    },
    run: definition.run as HubTool['run'],
  };
}

/** A server's result as a result of a tool. */
export function fromServer(result: CallResult): ToolResult {
  const { content } = result;
  return { ...result, content: Array.isArray(content) ? content : [] };
}

export function own(result: ToolResult): ToolReply {
  return { kind: 'own', result };
}

export function json(value: unknown): ToolReply {
  return own({ content: [jsonBlock(value)] });
}

export function jsonBlock(value: unknown): ContentBlock {
  return { type: 'text', text: stringifyExact(value) };
}

export const READS: Annotations = { readOnlyHint: true, openWorldHint: false };
export const READS_SERVER: Annotations = { readOnlyHint: true, openWorldHint: true };
