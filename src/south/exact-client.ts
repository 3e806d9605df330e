import { Client, ProtocolError, type JSONRPCResponse } from '@modelcontextprotocol/client';

/** What came with an error. The SDK looks inside, and what it knows it takes for something else, and cuts it. */
class Sealed {
  readonly data: unknown;

  constructor(data: unknown) {
    this.data = data;
  }
}

/** A client that loses nothing of what a server says. Whoever asks through it asks `exactly`. */
export class ExactClient extends Client {
  /** What the server said of itself, as it came; absent where that was said to somebody before us. */
  hello: Record<string, unknown> | undefined;

  protected override _onresponse(response: JSONRPCResponse): void {
    super._onresponse(sealed(response));
  }
}

/** Rejects with the error of the server as it came. */
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
