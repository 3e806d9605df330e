import { CLIENT_CAPABILITIES_KEY } from '../lib/protocol.ts';
import type { ConnectionSink, IncomingQuestion } from '../core/ports/connection.ts';
import type { Answer } from '../core/interaction/interaction.ts';
import { isObject } from '../lib/values.ts';
import { canBeAsked, nobodyToAsk } from '../north/asking/asking.ts';

export type Capabilities = Record<string, unknown>;

/** The capabilities that a modern client declares with its call. Those of other clients are known to their endpoint. */
export function capabilitiesIn(meta: Record<string, unknown> = {}): Capabilities | undefined {
  const declared = meta[CLIENT_CAPABILITIES_KEY];
  return isObject(declared) ? declared : undefined;
}

/** Only the client of the call can answer: a question that it does not support is refused at once. */
export async function sendQuestion(
  sink: ConnectionSink,
  capabilities: Capabilities | undefined,
  question: IncomingQuestion,
): Promise<Answer> {
  if (capabilities !== undefined && !canBeAsked(capabilities, question)) {
    throw new Error(nobodyToAsk(question));
  }
  return sink.question(question);
}
