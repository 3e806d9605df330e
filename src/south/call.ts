import { LOG_LEVEL_META_KEY, ProtocolError, SdkError, SdkErrorCode, type Client } from '@modelcontextprotocol/client';
import type { Answer } from '../core/question/question.ts';
import type { CallOutcome, ConnectionSink, OutgoingCall } from '../core/ports.ts';
import { messageOf } from '../lib/log.ts';
import { MAX_DELAY_MS } from '../lib/timers.ts';
import { questionKind } from './questions.ts';
import { ANY_RESULT } from './raw.ts';
import { isBrokenWire } from './transport/http.ts';
import { CALL_HEADER } from './transport/origin.ts';

const MAX_ROUNDS = 100;

/** A question in the middle of a call: the server wants answers, and then the same call again with them. */
interface Round {
  resultType: 'input_required';
  inputRequests?: Record<string, { method: string; params?: Record<string, unknown> }>;
  requestState?: string;
}

/** Runs one tool call to its end, through as many rounds of questions as the server wants. */
export async function runCall(client: Client, call: OutgoingCall, sink: ConnectionSink): Promise<CallOutcome> {
  const modern = client.getProtocolEra() === 'modern';
  const base = {
    name: call.tool,
    arguments: call.args,
    // Without a level in the request, servers of the new era send no logs at all.
    ...(modern && { _meta: { [LOG_LEVEL_META_KEY]: 'info' } }),
  };
  let answers = {};
  try {
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const result = await client.request({ method: 'tools/call', params: { ...base, ...answers } }, ANY_RESULT, {
        signal: call.signal,
        timeout: MAX_DELAY_MS,
        onprogress: call.onProgress,
        headers: { [CALL_HEADER]: call.id },
        allowInputRequired: true,
      });
      if (!isRound(result)) return { kind: 'result', result };
      answers = await answerRound(result, call, sink);
    }
    return { kind: 'error', error: { code: -32000, message: `the server asked for more than ${MAX_ROUNDS} rounds` } };
  } catch (error) {
    return failure(error);
  }
}

function isRound(result: Record<string, unknown>): result is Record<string, unknown> & Round {
  return result['resultType'] === 'input_required';
}

async function answerRound(round: Round, call: OutgoingCall, sink: ConnectionSink): Promise<Record<string, unknown>> {
  const asked = Object.entries(round.inputRequests ?? {});
  // A round that cannot be completed takes its other questions along: nobody would receive their answers.
  const over = new AbortController();
  const withdrawn = AbortSignal.any([call.signal, over.signal]);
  try {
    const answers = asked.map(async ([key, { method, params }]) => {
      const answer = await answerOne(method, params ?? {}, call.id, withdrawn, sink);
      return [key, answer] as const;
    });
    const inputResponses = Object.fromEntries(await Promise.all(answers));
    return {
      ...(asked.length > 0 && { inputResponses }),
      ...(round.requestState !== undefined && { requestState: round.requestState }),
    };
  } finally {
    over.abort();
  }
}

async function answerOne(
  method: string,
  params: Record<string, unknown>,
  callId: string,
  withdrawn: AbortSignal,
  sink: ConnectionSink,
): Promise<Answer> {
  if (method === 'roots/list') return { roots: [] };
  const kind = questionKind(method);
  if (kind === undefined) throw new ProtocolError(-32601, `the server asked for '${method}', which nobody can answer`);
  return sink.question({ kind, params, callId, withdrawn });
}

function failure(error: unknown): CallOutcome {
  if (isBrokenWire(error)) return { kind: 'lost', reason: messageOf(error) };
  if (error instanceof ProtocolError) {
    const { code, message, data } = error;
    return { kind: 'error', error: { code, message, ...(data !== undefined && { data }) } };
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed) {
    return { kind: 'lost', reason: 'the connection was closed' };
  }
  return { kind: 'error', error: { code: -32603, message: messageOf(error) } };
}
