/** The rounds of a client without sessions, request by request. */
import { takeApart, type Json, type Reply } from '../../support/hub.ts';
import { modernCall, modernHeaders, post } from '../../support/raw-http.ts';
import { BOTH_KINDS } from './clients.ts';

export interface RoundResult {
  result?: Json;
  error?: Json;
}

export interface RoundAsked {
  requestState: string;
  inputRequests: Record<string, { method: string; params?: Json }>;
}

/** One `execute_tool`, with whatever comes along from the round before. */
export async function roundOf(url: string, args: Json, more: Json = {}): Promise<RoundResult> {
  const call = modernCall('execute_tool', args, 1, 'test') as { params: Json & { _meta: Json } };
  const _meta = { ...call.params._meta, 'io.modelcontextprotocol/clientCapabilities': BOTH_KINDS };
  const { json } = await post(
    url,
    { ...call, params: { ...call.params, _meta, ...more } },
    modernHeaders('execute_tool'),
  );
  return json;
}

export function roundIn({ result, error }: RoundResult): RoundAsked {
  if (result?.['resultType'] !== 'input_required') throw new Error(`no round: ${JSON.stringify(result ?? error)}`);
  return result as unknown as RoundAsked;
}

export function replyOfResult({ result, error }: RoundResult): Reply {
  if (result?.['content'] === undefined) throw new Error(`no reply: ${JSON.stringify(result ?? error)}`);
  return takeApart(result);
}
