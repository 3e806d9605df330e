import { Client, ProtocolError, type JSONRPCResponse } from '@modelcontextprotocol/client';

/** Hides the data of an error from the SDK, which parses data that it knows and drops the other fields. */
class Sealed {
  readonly data: unknown;

  constructor(data: unknown) {
    this.data = data;
  }
}

/** A client that keeps all fields of results and errors. Requests that go through it are wrapped in `exactly`. */
export class ExactClient extends Client {
  /** The result of `initialize` or `server/discover` as the server sent it; absent in a session that was taken over. */
  initializeResult: Record<string, unknown> | undefined;

  /** Whether the server speaks a version without sessions. */
  get isModern(): boolean {
    return this.getProtocolEra() === 'modern';
  }

  protected override _onresponse(response: JSONRPCResponse): void {
    super._onresponse(sealed(response));
  }
}

/** Rejects with the error as the server sent it. */
export async function exactly<T>(asked: Promise<T>): Promise<T> {
  return asked.catch((error: unknown) => {
    if (!(error instanceof ProtocolError) || !(error.data instanceof Sealed)) throw error;
    throw new ProtocolError(error.code, error.message, error.data.data);
  });
}

function sealed(response: JSONRPCResponse): JSONRPCResponse {
  if (!('error' in response)) return response;
  const { data } = response.error;
  if (typeof data !== 'object' || data === null) return response;
  return { ...response, error: { ...response.error, data: new Sealed(data) } };
}
