import type { Transport } from '@modelcontextprotocol/client';

/**
 * The SDK's client takes a transport with these members for a child process: when the process does not answer the request
 * for the protocol version, the client goes on with `initialize`. Over any other transport that is an error.
 */
export interface ChildProcessTransport extends Transport {
  readonly pid: number | null;
  readonly stderr: null;
}
