import { SdkHttpError } from '@modelcontextprotocol/client';
import { errorIn, isDenial } from './transport/refusal.ts';

/** The same error, saying why there is no connection and not what the SDK was about when it noticed. */
export function inPlainWords(error: unknown): unknown {
  if (error instanceof Error) error.message = plainMessage(error);
  return error;
}

function plainMessage(error: Error): string {
  const message = error.message
    .replace(/^Version negotiation probe timed out after (\d+) ?ms$/, 'no MCP answer within $1 ms')
    .replace(/^Version negotiation (?:probe )?failed: /, '')
    .replace('answered the probe with', 'answered with');
  const body = error instanceof SdkHttpError ? error.data['text'] : undefined;
  const said = typeof body === 'string' ? errorIn(body) : undefined;
  if (said === undefined || message.includes(said)) return message;
  return error instanceof SdkHttpError && isDenial(error.status) ? `${message}: ${said}` : said;
}
