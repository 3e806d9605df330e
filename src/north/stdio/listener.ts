import { hostname } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { OwnedElsewhere } from '../../core/errors.ts';
import type { Gateway, OpenOptions } from '../../core/gateway.ts';
import {
  CONNECTION_SESSION,
  directView,
  groupView,
  HUB_VIEW,
  type NativeView,
  type View,
} from '../../core/session/kind.ts';
import type { Session } from '../../core/session/session.ts';
import { messageOf } from '../../lib/log.ts';
import { LOCAL_PRINCIPAL } from '../../lib/local-principal.ts';
import { isInitialize } from '../client-info.ts';
import { HUB_INFO, hubPeer, modernHub } from '../hub-endpoint.ts';
import type { Hub } from '../hub/hub.ts';
import { emptySubscription } from '../modern/empty-subscription.ts';
import { clientRecord } from '../legacy/client.ts';
import { StdioCarrier } from './carrier.ts';
import { StdioConnection, type StdioEndpoint } from './connection.ts';
import { nativeEndpoint } from './native.ts';
import { StdioWire } from './wire.ts';

/** There is one client, and so one session. */
const SESSION_ID = `${CONNECTION_SESSION}stdio`;

/** A larger message ends the connection: without its id it cannot be answered. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** The SDK starts a program, sends one of these to detect its era, and starts it again for the client. */
const PROBES = new Set(['server/discover', 'ping']);

export interface StdioListener {
  /** Resolves when the client has left. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** What the client sees: all servers through the hub, one natively, or several as one. */
export type StdioView = { hub: Hub } | (({ server: string } | { group: string }) & NativeOptions);

interface NativeOptions {
  taskAfterMs: number;
  /** For the tools that a client of several servers may need. */
  hub?: Hub;
}

export interface StdioStreams {
  input: Readable;
  output: Writable;
}

/** The stdio listener: one client, one session, which ends with the connection. Either era, decided by the first message. */
export async function listenOnStdio(
  gateway: Gateway,
  shown: StdioView,
  streams: StdioStreams = { input: process.stdin, output: process.stdout },
): Promise<StdioListener> {
  // A stored session ended with the process, not by its client.
  const view = viewOf(shown);
  const { session, isRestored } = await sessionIn(gateway, view);
  // It ends with the connection, not when idle.
  session.presence.hold();
  // While the client does not read, every waiting message adds a listener; this is not a leak.
  streams.output.setMaxListeners(0);
  const wire = new StdioWire(streams.input, streams.output, MAX_MESSAGE_BYTES);
  const carrier = new StdioCarrier(wire, streams.output);
  const endpoint = endpointOf(shown, gateway, session, carrier);
  const onMistake = (error: string): void => gateway.log.warn('client_protocol_error', { error });
  const connection = new StdioConnection(carrier, endpoint, { onCancel: gateway.settings.calls.onCancel, onMistake });
  const closed = new Promise<void>((resolve) => {
    carrier.onclose = () => {
      connection.close();
      resolve();
    };
  });
  let used = !isRestored;
  carrier.onmessage = (message) => {
    used ||= 'method' in message && !PROBES.has(message.method);
    // First, because the gateway declares to servers which questions this client can answer.
    if (isInitialize(message)) session.setOwner({ kind: 'client', client: clientRecord(message) });
    connection.receive(message);
  };
  carrier.onerror = (error) => onMistake(messageOf(error));
  carrier.start();
  return {
    closed,
    close: async () => {
      session.calls.refuseOpen('the gateway is shutting down');
      await gateway.repliesSent();
      carrier.close();
      // A process that was only probed leaves the stored session to the next start.
      if (used) await gateway.end(session, 'the client disconnected');
    },
  };
}

interface Found {
  session: Session;
  isRestored: boolean;
}

async function sessionIn(gateway: Gateway, view: View): Promise<Found> {
  const { cluster } = gateway.store;
  // A file belongs to one project; a database may have the sessions of many.
  const place = cluster === undefined ? '' : `@${hostname()}:${process.cwd()}`;
  const id = `${sessionId(view)}${place}`;
  try {
    return await restoreOrOpen(gateway, view, id);
  } catch (error) {
    if (cluster === undefined || !(error instanceof OwnedElsewhere)) throw error;
    // A second client in the same project.
    return restoreOrOpen(gateway, view, `${id}:${cluster.gatewayId}`);
  }
}

async function restoreOrOpen(gateway: Gateway, view: View, id: string): Promise<Found> {
  const options: OpenOptions = { id, view, owner: { kind: 'connection' }, later: view.kind !== 'hub' };
  const restored = await gateway.restore(id, LOCAL_PRINCIPAL);
  return { session: restored ?? (await gateway.open(LOCAL_PRINCIPAL, options)), isRestored: restored !== undefined };
}

function viewOf(shown: StdioView): View {
  return 'taskAfterMs' in shown ? nativeViewOf(shown) : HUB_VIEW;
}

function nativeViewOf(shown: { server: string } | { group: string }): NativeView {
  return 'server' in shown ? directView(shown.server) : groupView(shown.group);
}

function endpointOf(shown: StdioView, gateway: Gateway, session: Session, carrier: StdioCarrier): StdioEndpoint {
  if (!('taskAfterMs' in shown)) return hubEndpoint(shown.hub, gateway, session, carrier);
  const { hub, taskAfterMs } = shown;
  return nativeEndpoint({ gateway, session, carrier, view: nativeViewOf(shown), hub, taskAfterMs });
}

/** A name may belong to a server in one version of the config file and to a group in the next. */
function sessionId(view: View): string {
  switch (view.kind) {
    case 'hub':
      return SESSION_ID;
    case 'direct':
      return `${SESSION_ID}:${view.server}`;
    case 'group':
      return `${SESSION_ID}:group:${view.group}`;
  }
}

/** Shows the hub to the client on the wire. */
function hubEndpoint(hub: Hub, gateway: Gateway, session: Session, carrier: StdioCarrier): StdioEndpoint {
  const modern = modernHub({ hub, session, mayRunCommands: true });
  return {
    legacy: async () => ({
      peer: hubPeer({ hub, gateway, session, carrier, mayRunCommands: true }),
      close: () => {},
    }),
    onModern: () => {},
    modern: async () => modern,
    listen: (request) => {
      for (const message of emptySubscription(request, HUB_INFO)) carrier.send(message);
    },
    unlisten: () => false,
  };
}
