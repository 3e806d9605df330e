import type { Gateway } from '../../core/gateway.ts';
import type { Session } from '../../core/session/session.ts';
import { metaOf } from '../../lib/meta.ts';
import { rpcFailure } from '../../lib/rpc-error.ts';
import { refuseUnaskable } from '../asking/asking.ts';
import { LegacyView } from '../direct/legacy-view.ts';
import { listen } from '../direct/listening.ts';
import { clientStateOf } from '../direct/modern-client-state.ts';
import { modernView } from '../direct/modern-view.ts';
import { wireError } from '../direct/outcome.ts';
import { serverInfo } from '../direct/shown-server.ts';
import type { RequestId, RequestMessage } from '../message.ts';
import { clientIn } from '../modern-client.ts';
import type { StdioCarrier } from './carrier.ts';
import type { StdioEndpoint } from './connection.ts';

interface DirectStdio {
  gateway: Gateway;
  session: Session;
  carrier: StdioCarrier;
  name: string;
  taskAfterMs: number;
}

/** Shows one server to the client on the wire. */
export function directEndpoint({ gateway, session, carrier, name, taskAfterMs }: DirectStdio): StdioEndpoint {
  const clientState = clientStateOf(session, name);
  const listening = new Map<unknown, () => void>();
  const info = async () => serverInfo(name, session.connection(name));
  const listenTo = async ({ id, params = {} }: RequestMessage): Promise<void> => {
    const client = clientIn(metaOf(params));
    const send: Parameters<typeof listen>[0]['send'] = (message) => carrier.send(message);
    const stop = await listen({ session, info: await info(), clientState, client, id, send }, params);
    // The client may have cancelled it meanwhile.
    if (listening.has(id)) listening.set(id, stop);
    else stop();
  };
  return {
    legacy: async () => {
      const view = new LegacyView({ gateway, session, name, info: await info(), carrier, alone: true });
      return { peer: view.peer, close: () => view.close() };
    },
    onModern: () => {
      const refuse = refuseUnaskable(session.interactions, () => clientState.capabilities);
      session.interactions.register('any', refuse);
    },
    modern: async () => modernView({ gateway, session, name, info: await info(), clientState, taskAfterMs }),
    listen: (request) => {
      const { id } = request;
      listening.set(id, () => {});
      listenTo(request).catch((error: unknown) => {
        if (!listening.delete(id)) return;
        carrier.send({ jsonrpc: '2.0', id, error: rpcFailure(wireError(name, error)) });
      });
    },
    unlisten: (id) => {
      const stop = listening.get(id);
      if (stop === undefined) return false;
      listening.delete(id);
      carrier.abandon(id as RequestId);
      stop();
      return true;
    },
  };
}
