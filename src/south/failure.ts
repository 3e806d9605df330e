import { SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { messageOf } from '../lib/log.ts';
import { failureKindOf, ServerFailure } from '../lib/server-failure.ts';
import { errorIn, kindOfStatus } from './transport/refusal.ts';

/** Any error of an attempt to connect, as a failure with a kind and a message that does not speak of the SDK's own steps. */
export function toServerFailure(error: unknown): ServerFailure {
  if (error instanceof ServerFailure) return error;
  const { failure, message } = describe(error);
  return new ServerFailure(failure, message, { cause: error });
}

function describe(error: unknown): Pick<ServerFailure, 'failure' | 'message'> {
  const message = messageOf(error);
  const known = failureKindOf(error);
  if (known !== undefined) return { failure: known, message };
  if (error instanceof SdkHttpError) return describeHttp(error);
  if (!(error instanceof SdkError)) return { failure: 'other', message };
  if (error.code === SdkErrorCode.RequestTimeout) return { failure: 'timeout', message: timeoutMessage(error) };
  if (error.code === SdkErrorCode.ConnectionClosed) return { failure: 'closed', message };
  if (error.code !== SdkErrorCode.EraNegotiationFailed) return { failure: 'other', message };
  // Without a cause, the transport was closed during the probe.
  return error.cause === undefined
    ? { failure: 'closed', message: 'the connection was closed before the server answered' }
    : describe(error.cause);
}

/** An HTTP error that the SDK reports in its own words, with the response in `data`. */
function describeHttp(error: SdkHttpError): Pick<ServerFailure, 'failure' | 'message'> {
  const { status, data } = error;
  const text = data['text'];
  const said = typeof text === 'string' ? errorIn(text) : undefined;
  const failure = kindOfStatus(status, said !== undefined);
  const details = said === undefined ? '' : `: ${said}`;
  if (status === 401) return { failure, message: `the server requires authorization (HTTP 401)${details}` };
  if (status === 403) return { failure, message: `the server denied access (HTTP 403)${details}` };
  return { failure, message: said ?? `the server answered with HTTP ${status}` };
}

function timeoutMessage({ data, message }: SdkError): string {
  const { timeout } = (data ?? {}) as { timeout?: unknown };
  return typeof timeout === 'number' ? noAnswerWithin(timeout) : message;
}

export const noAnswerWithin = (ms: number): string => `no MCP answer within ${ms} ms`;
