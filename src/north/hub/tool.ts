import type { RequestId, Server } from '@modelcontextprotocol/server';
import type * as z from 'zod';
import type { EventReader } from '../../core/event/reader.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Progress } from '../../core/ports.ts';
import type { Session } from '../../core/session/session.ts';
import type { CoreSettings } from '../../core/settings.ts';
import type { CallResult } from '../../core/task/task.ts';
import type { Exchange } from '../exchange.ts';

/** What a hub tool works with. */
export interface ToolContext {
  gateway: Gateway;
  session: Session;
  exchange: Exchange;
  /** Progress of what the client waits for. */
  onProgress: (progress: Progress) => void;
  /** Whether the client may make the gateway start programs. */
  mayRunCommands: boolean;
  /** Who reads the events, where the session has several readers. */
  reader?: EventReader | undefined;
  /** There if the client can itself be asked. */
  asking?: Asking | undefined;
}

/** How a client is asked while its own request is open, if it can be. */
export type Asking = AskingByRequest | AskingByRound;

/** The client takes requests, on the stream of its own request. */
export interface AskingByRequest {
  by: 'request';
  /** What it declared that it can be asked. */
  capabilities: Record<string, unknown>;
  server: Server;
  on: RequestId;
}

/** The client gets questions in place of the reply, and makes the same request again with the answers. */
export interface AskingByRound {
  by: 'round';
  capabilities: Record<string, unknown>;
  /** The task of the call, from the second round on. */
  taskId?: string;
  answers: Record<string, unknown>;
}

export type ContentBlock = Record<string, unknown>;

/** The tool's own part of the reply; the reply builder adds events and what waits for the client. */
export interface ToolReply {
  content: ContentBlock[];
  isError?: boolean;
  [field: string]: unknown;
}

/** What the client is to answer before there is a reply. */
export class Round {
  readonly inputRequests: Record<string, unknown>;
  readonly requestState: string;

  constructor(inputRequests: Record<string, unknown>, requestState: string) {
    this.inputRequests = inputRequests;
    this.requestState = requestState;
  }
}

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
  /** The values of arguments that a client leaves out, where the settings decide. */
  defaults?: ((settings: CoreSettings) => Record<string, number>) | undefined;
  annotations: Annotations;
  /** Its reply shows that servers are connected: the one in its arguments, or all. */
  showsServers?: true | undefined;
  run: (args: unknown, context: ToolContext) => Promise<ToolReply | Round>;
}

/** Ties the argument type of `run` to the schema that has checked it. */
export function tool<S extends z.ZodObject>(definition: {
  name: string;
  description: string;
  input: S;
  defaults?: HubTool['defaults'];
  annotations: Annotations;
  showsServers?: true;
  run: (args: z.infer<S>, context: ToolContext) => Promise<ToolReply | Round>;
}): HubTool {
  return {
    ...definition,
    // A misspelt argument is a mistake to be told, not one to be ignored.
    input: definition.input.strict(),
    run: (args, context) => definition.run(args as z.infer<S>, context),
  };
}

/** A server's own result as a reply. */
export function fromServer(result: CallResult): ToolReply {
  const { content } = result;
  return { ...result, content: Array.isArray(content) ? content : [] };
}

export function json(value: unknown): ToolReply {
  return { content: [jsonBlock(value)] };
}

export function jsonBlock(value: unknown): ContentBlock {
  return { type: 'text', text: JSON.stringify(value) };
}

export const READS: Annotations = { readOnlyHint: true, openWorldHint: false };
export const READS_SERVER: Annotations = { readOnlyHint: true, openWorldHint: true };
