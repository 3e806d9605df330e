import type { Gateway } from '../../core/gateway.ts';
import type { NativeView } from '../../core/session/kind.ts';
import type { Session } from '../../core/session/session.ts';
import { metaOf } from '../../lib/meta.ts';
import { rpcFailure } from '../../lib/rpc-error.ts';
import { refuseUnaskable } from '../asking/asking.ts';
import { LegacyView } from '../direct/legacy-view.ts';
import { openSubscription } from '../direct/listening.ts';
import { clientStateOf } from '../direct/modern-client-state.ts';
import { modernView } from '../direct/modern-view.ts';
import { wireError } from '../direct/outcome.ts';
import type { Shown } from '../direct/shown.ts';
import { HelperTools } from '../all/helper-tools.ts';
import type { Hub } from '../hub/hub.ts';
import { introducedIn, shownAgain, shownIn } from '../shown-in.ts';
import type { RequestId, RequestMessage } from '../message.ts';
import { clientIn } from '../modern-client.ts';
import type { StdioCarrier } from './carrier.ts';
import type { StdioEndpoint } from './connection.ts';

interface NativeStdio {
  gateway: Gateway;
  session: Session;
  carrier: StdioCarrier;
  view: NativeView;
  /** For the tools that a client of several servers may need. */
  hub: Hub | undefined;
  taskAfterMs: number;
}

/** Shows one server, or several as one, to the client on the wire. */
export function nativeEndpoint({ gateway, session, carrier, view, hub, taskAfterMs }: NativeStdio): StdioEndpoint {
  const clientState = clientStateOf(session, shownAgain(gateway, session, view));
  const listening = new Map<unknown, () => void>();
  const shown = async (): Promise<Shown> => shownIn(gateway, session, view);
  const helpers = (): HelperTools | undefined =>
    hub !== undefined && session.hasHubTools ? new HelperTools(hub, session, true) : undefined;
  const listenTo = async ({ id, params = {} }: RequestMessage): Promise<void> => {
    const client = clientIn(metaOf(params));
    const send: Parameters<typeof openSubscription>[0]['send'] = (message) => carrier.send(message);
    const stop = await openSubscription({ session, shown: await shown(), clientState, client, id, send }, params);
    // The client may have cancelled it meanwhile.
    if (listening.has(id)) listening.set(id, stop);
    else stop();
  };
  return {
    legacy: async () => {
      const introduced = await introducedIn(gateway, session, view);
      const helped = helpers();
      const alone = helped === undefined;
      const legacy = new LegacyView({ gateway, session, shown: introduced, carrier, helpers: helped, alone });
      return { peer: legacy.peer, close: () => legacy.close() };
    },
    onModern: () => {
      if (session.hasHubTools) return;
      const refuse = refuseUnaskable(session.interactions, () => clientState.capabilities);
      session.interactions.register('any', refuse);
    },
    modern: async () =>
      modernView({ gateway, session, shown: await shown(), helpers: helpers(), clientState, taskAfterMs }),
    listen: (request) => {
      const { id } = request;
      listening.set(id, () => {});
      listenTo(request).catch((error: unknown) => {
        if (!listening.delete(id)) return;
        carrier.send({ jsonrpc: '2.0', id, error: rpcFailure(wireError('the server', error)) });
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
