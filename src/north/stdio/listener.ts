import { PassThrough, type Readable, type Writable } from 'node:stream';
import { isInitializeRequest, type McpServerFactory } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { CONNECTION_SESSION, type Gateway, type OpenOptions } from '../../core/gateway.ts';
import { directView, HUB_VIEW } from '../../core/session/kind.ts';
import type { Session } from '../../core/session/session.ts';
import { useFreshIds } from '../../lib/sdk/fresh-ids.ts';
import { messageOf } from '../../lib/log.ts';
import { LOCAL_PRINCIPAL } from '../http/guard.ts';
import { createHubServer } from '../hub-server.ts';
import { clientRecord } from '../legacy/client.ts';
import { StdioCarrier } from './carrier.ts';
import { serveDirectly } from './direct.ts';
import { StdioWire } from './wire.ts';
import type { Hub } from '../hub/hub.ts';

/** There is one client, and so one session. */
const SESSION_ID = `${CONNECTION_SESSION}stdio`;

/** A larger message ends the connection: without its id it cannot be answered. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** How long a client that has closed its end may wait for answers. */
const LAST_ANSWERS_MS = 2000;

/** The SDK starts a program, sends one of these to learn what it speaks, and starts it again for the client. */
const PROBES = new Set(['server/discover', 'ping']);

export interface StdioListener {
  /** Resolves when the client has left. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** What the client is shown: all servers through the hub, or one as it is. */
export type Shown = { hub: Hub } | { server: string; taskAfterMs: number };

export interface StdioStreams {
  input: Readable;
  output: Writable;
}

/** The stdio listener: one client, one session, which ends with the connection. Either era, decided by the first message. */
export async function listenOnStdio(
  gateway: Gateway,
  shown: Shown,
  streams: StdioStreams = { input: process.stdin, output: process.stdout },
): Promise<StdioListener> {
  // A session that is still stored was not ended by its client, but with the program.
  const id = 'hub' in shown ? SESSION_ID : `${SESSION_ID}:${shown.server}`;
  const view = 'hub' in shown ? HUB_VIEW : directView(shown.server);
  const later = view.kind === 'direct';
  const options: OpenOptions = { id, view, owner: { kind: 'connection' }, later };
  const restored = await gateway.restore(id, LOCAL_PRINCIPAL);
  const session = restored ?? (await gateway.open(LOCAL_PRINCIPAL, options));
  // It ends with the connection, and not when it is idle.
  session.hold();
  // While the client does not read, every waiting message adds a listener: these are no leak.
  streams.output.setMaxListeners(0);
  // The transport closes with its input; requests that came just before are still answered.
  const input = new PassThrough();
  streams.input.pipe(input, { end: false });
  const carrier = new StdioCarrier(new StdioWire(input, streams.output, MAX_MESSAGE_BYTES), streams.output);
  streams.input.once('end', () => void carrier.allAnswered(LAST_ANSWERS_MS).then(() => input.end()));
  const closed = new Promise<void>((resolve) => {
    carrier.onWireClosed = resolve;
  });
  const serve =
    'hub' in shown
      ? serveHub(shown.hub, session, carrier)
      : serveDirectly({ gateway, session, carrier, name: shown.server, taskAfterMs: shown.taskAfterMs });
  const receive = carrier.onReceived;
  let used = restored === undefined;
  carrier.onReceived = (message) => {
    used ||= 'method' in message && !PROBES.has(message.method);
    return receive(message);
  };
  const handle = serveStdio(serve, {
    transport: carrier,
    onerror: (error) => gateway.log.warn('client_protocol_error', { error: messageOf(error) }),
  });
  return {
    closed,
    close: async () => {
      session.calls.refuseOpen('the gateway is shutting down');
      await gateway.repliesSent();
      await handle.close();
      // A client that was disconnected has not closed its end, which would keep the program running.
      streams.input.unpipe(input).pause();
      // A program that was only probed leaves what an earlier run has stored to the next start.
      if (used) await gateway.end(session, 'the client disconnected');
    },
  };
}

/** Shows the hub to the client on the wire, in the era of its first message. */
function serveHub(hub: Hub, session: Session, carrier: StdioCarrier): McpServerFactory {
  carrier.onReceived = (message) => {
    if (isInitializeRequest(message)) {
      session.setOwner({ kind: 'client', client: clientRecord(message) });
    }
    return false;
  };
  return ({ era }) => {
    const rounds = era === 'modern';
    // Peers take no cancellation of a request with the id 0, with which the SDK begins.
    if (!rounds) useFreshIds(carrier);
    return createHubServer({ hub, session, carrier, mayRunCommands: true, rounds });
  };
}
