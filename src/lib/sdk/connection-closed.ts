import { SdkErrorCode } from '@modelcontextprotocol/server';
import { codeOf } from '../log.ts';

/** Whether the SDK aborted a request because its connection was closed. Client and server have an error class each. */
export function isConnectionClosed(reason: unknown): boolean {
  return codeOf(reason) === SdkErrorCode.ConnectionClosed;
}
