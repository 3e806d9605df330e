import { createHash } from 'node:crypto';
import {
  CLIENT_CAPABILITIES_KEY,
  CLIENT_INFO_KEY,
  LOG_LEVEL_KEY,
  MODERN_VERSION,
  TASKS_EXTENSION,
} from '../lib/protocol.ts';
import { MISSING_CAPABILITY, RpcError } from '../lib/rpc-error.ts';
import { isObject } from '../lib/values.ts';

export const MODERN_VERSIONS = [MODERN_VERSION];

/** What a modern client declares about itself with each request. */
export interface ModernClient {
  capabilities: Record<string, unknown>;
  /** The name of the client program, if declared. */
  program: string | undefined;
  /** It supports tasks. */
  takesTasks: boolean;
  logLevel: string | undefined;
}

/** The client, from the `_meta` of its request. */
export function clientIn(meta: Record<string, unknown>): ModernClient {
  const declared = meta[CLIENT_CAPABILITIES_KEY];
  const capabilities = isObject(declared) ? declared : {};
  const { extensions } = capabilities;
  const level = meta[LOG_LEVEL_KEY];
  return {
    capabilities,
    program: programIn(meta),
    takesTasks: isObject(extensions) && isObject(extensions[TASKS_EXTENSION]),
    logLevel: typeof level === 'string' ? level : undefined,
  };
}

function programIn({ [CLIENT_INFO_KEY]: info }: Record<string, unknown>): string | undefined {
  return isObject(info) && typeof info['name'] === 'string' ? info['name'] : undefined;
}

const MAX_PROGRAM = 64;

/**
 * The state that a client uses: the one that it names, or that of its program. The version of the program does
 * not matter, so that an update loses nothing.
 */
export function stateOf(as: string | undefined, meta: Record<string, unknown>): string {
  if (as !== undefined) return `as=${as}`;
  const name = programIn(meta) ?? '';
  if (name !== lastProgram.name) lastProgram = { name, state: programState(name) };
  return lastProgram.state;
}

/** The program of the last request, which is usually also that of the next one. */
let lastProgram = { name: '', state: programState('') };

function programState(name: string): string {
  const short = name.length <= MAX_PROGRAM ? name : `${name.slice(0, MAX_PROGRAM)}#${digest(name)}`;
  return `program=${encodeURIComponent(short.replaceAll(/\p{Cs}/gu, '\uFFFD'))}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The capability that a client must declare for requests about tasks. */
const TASKS_REQUIRED = { extensions: { [TASKS_EXTENSION]: {} } };

export function requireTasks({ takesTasks }: ModernClient): void {
  if (takesTasks) return;
  const message = 'Missing required client capabilities: extensions';
  throw new RpcError(MISSING_CAPABILITY, message, { requiredCapabilities: TASKS_REQUIRED });
}

/**
 * The capabilities that the server of a call sees. A client that supports MRTR can also call tools that the server
 * runs only as tasks, because the gateway keeps the task; for other clients the server decides.
 */
export function calling({ capabilities }: ModernClient): Record<string, unknown> {
  const takesRounds = isObject(capabilities['elicitation']) || isObject(capabilities['sampling']);
  if (!takesRounds) return capabilities;
  const extensions = isObject(capabilities['extensions']) ? capabilities['extensions'] : {};
  return { ...capabilities, extensions: { ...extensions, [TASKS_EXTENSION]: {} } };
}
