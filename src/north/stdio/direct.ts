import {
  isInitializeRequest,
  type JSONRPCMessage,
  type McpServerFactory,
  type RequestId,
} from '@modelcontextprotocol/server';
import type { Gateway } from '../../core/gateway.ts';
import type { Session } from '../../core/session/session.ts';
import { useFreshIds } from '../../lib/sdk/fresh-ids.ts';
import { rpcFailure } from '../../lib/rpc-error.ts';
import { metaOf } from '../../lib/meta.ts';
import { refuseUnaskable } from '../asking/asking.ts';
import { LegacyView } from '../direct/legacy-view.ts';
import { listen } from '../direct/listening.ts';
import { clientStateOf } from '../direct/modern-client-state.ts';
import { clientRecord } from '../legacy/client.ts';
import { clientIn } from '../modern-client.ts';
import { createModernServer } from '../direct/modern-view.ts';
import { wireError } from '../direct/outcome.ts';
import { serverInfo } from '../direct/shown-server.ts';
import type { StdioCarrier } from './carrier.ts';

interface DirectStdio {
  gateway: Gateway;
  session: Session;
  carrier: StdioCarrier;
  name: string;
  taskAfterMs: number;
}

/** Shows one server to the client on the wire, in the era of its first message. */
export function serveDirectly({ gateway, session, carrier, name, taskAfterMs }: DirectStdio): McpServerFactory {
  const clientState = clientStateOf(session, name);
  const listening = new Map<RequestId, () => void>();
  // Several protocol objects are made if the client probes before it begins.
  let stopRefusing = (): void => {};
  const listenTo = async (id: RequestId, params: Record<string, unknown>): Promise<void> => {
    const info = await serverInfo(name, session.connection(name));
    const client = clientIn(metaOf(params));
    const send = (message: JSONRPCMessage): void => void carrier.send(message).catch(() => {});
    const stop = await listen({ session, info, clientState, client, id, send }, params);
    // The client may have cancelled it meanwhile.
    if (listening.has(id)) listening.set(id, stop);
    else stop();
  };
  carrier.onReceived = (message) => {
    if (!('method' in message)) return false;
    // Before anything is sent to the server: it is told what this client can be asked.
    if (isInitializeRequest(message)) {
      session.setOwner({ kind: 'client', client: clientRecord(message) });
      return false;
    }
    if (message.method === 'subscriptions/listen' && 'id' in message) {
      const { id } = message;
      listening.set(id, () => {});
      listenTo(id, message.params ?? {}).catch((error: unknown) => {
        if (!listening.delete(id)) return;
        const failure = rpcFailure(wireError(name, error));
        carrier.send({ jsonrpc: '2.0', id, error: failure }).catch(() => {});
      });
      return true;
    }
    const stop = cancelled(message, listening, carrier);
    stop?.();
    return stop !== undefined;
  };
  return async ({ era }) => {
    const info = await serverInfo(name, session.connection(name));
    if (era === 'modern') {
      const refuse = refuseUnaskable(session.interactions, () => clientState.capabilities);
      stopRefusing();
      stopRefusing = session.interactions.register('any', refuse);
      return createModernServer({ gateway, session, name, info, carrier, clientState, taskAfterMs });
    }
    const shown = new LegacyView({ gateway, session, name, info, carrier, alone: true });
    shown.server.onclose = () => shown.close();
    // Peers take no cancellation of a request with the id 0, with which the SDK begins.
    useFreshIds(carrier);
    return shown.server;
  };
}

/** The function that ends the listening that this message cancels. */
function cancelled(
  message: JSONRPCMessage,
  listening: Map<RequestId, () => void>,
  carrier: StdioCarrier,
): (() => void) | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  const { requestId } = message.params ?? {};
  const stop = listening.get(requestId as RequestId);
  if (stop) {
    listening.delete(requestId as RequestId);
    carrier.abandon(requestId as RequestId);
  }
  return stop;
}
