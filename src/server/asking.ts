import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import type { ConnectionSink, IncomingQuestion } from '../core/ports.ts';
import type { Answer } from '../core/interaction/interaction.ts';
import { isObject } from '../lib/values.ts';
import { canBeAsked, nobodyToAsk } from '../north/asking/asking.ts';

export type Capabilities = Record<string, unknown>;

/** What a client without sessions said with its call that it can be asked; others are known to whoever shows them the server. */
export function capabilitiesIn(meta: Record<string, unknown> = {}): Capabilities | undefined {
  const declared = meta[CLIENT_CAPABILITIES_META_KEY];
  return isObject(declared) ? declared : undefined;
}

/** Puts a question to the client of a call. There is nobody else: one that it cannot be asked is refused at once. */
export async function putToClient(
  sink: ConnectionSink,
  capabilities: Capabilities | undefined,
  question: IncomingQuestion,
): Promise<Answer> {
  if (capabilities !== undefined && !canBeAsked(capabilities, question)) {
    throw new Error(nobodyToAsk(question));
  }
  return sink.question(question);
}
