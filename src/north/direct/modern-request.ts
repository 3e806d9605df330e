import type { Gateway } from '../../core/gateway.ts';
import type { Connection, ServerInfo } from '../../core/ports/connection.ts';
import type { Interaction } from '../../core/interaction/interaction.ts';
import type { Session } from '../../core/session/session.ts';
import { secretId } from '../../lib/ids.ts';
import { CLIENT_CAPABILITIES_KEY, LOG_LEVEL_KEY } from '../../lib/protocol.ts';
import type { HelperTools } from '../all/helper-tools.ts';
import type { ClientRequest } from '../client-request.ts';
import { report, type Reply } from '../commit-gate.ts';
import { inputRequired, type WaitingWork } from '../mrtr/request-state.ts';
import type { Exchange } from '../exchange.ts';
import type { Params } from '../message.ts';
import { calling, type ModernClient } from '../modern-client.ts';
import type { ModernCall } from '../modern/endpoint.ts';
import { passedOnMeta } from './meta.ts';
import type { ModernClientState } from './modern-client-state.ts';
import type { Recipient, Shown } from './shown.ts';

export interface ModernViewParts {
  gateway: Gateway;
  session: Session;
  shown: Shown;
  /** For clients without native tasks and questions. */
  helpers?: HelperTools | undefined;
  /** The state shared by the requests of one client. */
  clientState: ModernClientState;
  /** After how long a call is offered as a task to a client that supports tasks. */
  taskAfterMs: number;
}

/** One request of a client without sessions, which is for one server. */
export class ModernRequest {
  readonly parts: ModernViewParts;
  readonly server: string;
  /** Information about the server. */
  readonly info: ServerInfo;
  readonly exchange: Exchange;
  readonly client: ModernClient;
  /** The id of the request on the connection to the server. */
  readonly id = secretId();
  /** The `requestState` of the last round. */
  readonly state: unknown;
  /** The client's answers to the last round. */
  readonly answers: Params | undefined;
  readonly #request: ClientRequest;

  constructor(
    parts: ModernViewParts,
    { server, info }: Recipient,
    { request, client, state, answers }: Omit<ModernCall, 'params'>,
  ) {
    this.parts = parts;
    this.server = server;
    this.info = info;
    this.exchange = request.exchange;
    this.client = client;
    this.state = state;
    this.answers = answers;
    this.#request = request;
  }

  get method(): string {
    return this.#request.method;
  }

  get connection(): Connection {
    return this.parts.session.connection(this.server);
  }

  /** Modern servers get the client's capabilities with each request. */
  meta(method: string, params: Params): Params {
    const meta = passedOnMeta(params);
    if (!this.info.traits.declaredPerRequest) return meta;
    // These are not among what is passed on.
    return {
      [CLIENT_CAPABILITIES_KEY]: method === 'tools/call' ? calling(this.client) : this.client.capabilities,
      [LOG_LEVEL_KEY]: this.client.logLevel,
      ...meta,
    };
  }

  /** Forwards the notifications of this request while `work` runs. */
  listening<T>(id: string | undefined, work: () => Promise<T>): Promise<T> {
    const { logLevel } = this.client;
    if (logLevel === undefined) return this.#whileOpen(id ?? this.id, work);
    return this.parts.clientState.useLevel(logLevel, this).then(() => this.#whileOpen(id ?? this.id, work));
  }

  async #whileOpen<T>(id: string, work: () => Promise<T>): Promise<T> {
    const { clientState } = this.parts;
    const open = clientState.enter(id, this.server, this.client.logLevel, this.#request);
    try {
      return await work();
    } finally {
      clientState.leave(open);
    }
  }

  /** Replies with questions; the client repeats the request with the answers. */
  round(questions: ReadonlyMap<string, Interaction>, waiting: WaitingWork): Reply {
    const { session } = this.parts;
    return report(session, inputRequired(session.key, questions, waiting));
  }
}
