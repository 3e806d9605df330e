import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  type ClientCapabilities,
  type Transport,
} from '@modelcontextprotocol/client';
import type { CommandServerConfig, HttpServerConfig, ServerConfig } from '../core/ports.ts';
import { VERSION } from '../lib/version.ts';
import { ChildTransport } from './transport/child.ts';
import { HttpTransport, type HttpHealth } from './transport/http.ts';

/** What we let servers ask: everything that somebody behind us may answer. */
const CAPABILITIES: ClientCapabilities = { elicitation: { form: {}, url: {} }, sampling: { tools: {} } };

/** A child that ignores what it does not know would otherwise hold up the connection for the whole time-out. */
const CHILD_PROBE_MS = 8000;

export interface DialHooks extends HttpHealth {
  /** Called before the connection is made: installs the handlers that must not miss a first message. */
  prepare: (client: Client) => void;
  onStderr: (line: string) => void;
}

export interface Dialled {
  client: Client;
  transport: Transport;
}

/**
 * Connects to servers of either era. What a server turned out to speak is remembered, so that the next connection does
 * not probe again; a verdict that proves wrong is forgotten.
 */
export class Dialler {
  readonly #knownOld = new Set<string>();
  readonly #timeoutMs: number;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  async dial(config: ServerConfig, hooks: DialHooks): Promise<Dialled> {
    const key = JSON.stringify(config);
    try {
      return this.#remember(key, await this.#dialOnce(config, hooks, this.#knownOld.has(key)));
    } catch (error) {
      // It answered, and not like an old server: the next attempt asks anew.
      if (error instanceof ProtocolError || error instanceof SdkHttpError) this.#knownOld.delete(key);
      if (!diedOfProbe(error)) throw error;
      // Some old servers die of a request before `initialize`; they get a second life without it. One that dies again
      // has another reason, and is not started twice for each attempt from now on.
      this.#knownOld.add(key);
      return this.#remember(key, await this.#dialOnce(config, hooks, true));
    }
  }

  async #dialOnce(config: ServerConfig, hooks: DialHooks, knownOld: boolean): Promise<Dialled> {
    return 'url' in config ? this.#dialHttp(config, hooks, knownOld) : this.#dialChild(config, hooks, knownOld);
  }

  async #dialHttp(config: HttpServerConfig, hooks: DialHooks, knownOld: boolean): Promise<Dialled> {
    try {
      return await this.#connect(new HttpTransport(config, hooks), hooks, knownOld);
    } catch (error) {
      if (!refusesStreamableHttp(error)) throw error;
      const transport = new SSEClientTransport(new URL(config.url), { requestInit: { headers: config.headers ?? {} } });
      return this.#connect(transport, hooks, true);
    }
  }

  async #dialChild(config: CommandServerConfig, hooks: DialHooks, knownOld: boolean): Promise<Dialled> {
    const transport = new ChildTransport(config);
    transport.onnoise = hooks.onStderr;
    return this.#connect(transport, hooks, knownOld);
  }

  #remember(key: string, dialled: Dialled): Dialled {
    if (dialled.client.getProtocolEra() === 'legacy') this.#knownOld.add(key);
    else this.#knownOld.delete(key);
    return dialled;
  }

  async #connect(transport: Transport, hooks: DialHooks, knownOld: boolean): Promise<Dialled> {
    const probeMs = transport instanceof ChildTransport ? Math.min(CHILD_PROBE_MS, this.#timeoutMs) : this.#timeoutMs;
    const client = new Client(
      { name: 'meanwhile', version: VERSION },
      {
        capabilities: CAPABILITIES,
        inputRequired: { autoFulfill: false },
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
      },
    );
    hooks.prepare(client);
    try {
      await client.connect(transport, {
        timeout: this.#timeoutMs,
        ...(knownOld && { prior: { kind: 'legacy' as const } }),
      });
    } catch (error) {
      await transport.close();
      throw transport instanceof ChildTransport ? transport.explain(error) : error;
    }
    return { client, transport };
  }
}

/** A server of the 2024 HTTP+SSE transport answers a POST to its stream's address like this. */
function refusesStreamableHttp(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405].includes(error.status ?? 0);
}

function diedOfProbe(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof SdkError && cause.code === SdkErrorCode.EraNegotiationFailed;
}
