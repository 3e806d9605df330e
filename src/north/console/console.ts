/** The console: a page for people, and the API that it and other programs use. Loaded with the first request for either. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gateway } from '../../core/gateway.ts';
import type { ServerConfig } from '../../core/ports.ts';
import { messageOf } from '../../lib/log.ts';
import type { Guard } from '../http/guard.ts';
import { Access, isRead } from './access.ts';
import { ApiError, apiErrorOf, notFound } from './api-error.ts';
import { serveApi } from './api/api.ts';
import { emptyBody, signInBody } from './api/schemas.ts';
import type { Services } from './api/services.ts';
import { readJson } from './api/validate.ts';
import { LiveViews } from './live/live-views.ts';
import { respond, respondApiError, SECURITY_HEADERS } from './respond.ts';
import { serveFile } from './static-files.ts';

export interface ConsoleSettings {
  /** The key of the launch link. */
  key: string;
  /** The principals that see what belongs to any. */
  operators: readonly string[];
  /** When the program was started. */
  startedAt: number;
  history: { keepMs: number; callsPerSecond: number };
  /** The server of the demonstration, which people can add. */
  demo?: ServerConfig;
}

export interface ConsoleParts {
  gateway: Gateway;
  guard: Guard;
  settings: ConsoleSettings;
  bodyBytes: number;
  /** The address of the hub. */
  hubUrl: string;
}

export class Console {
  readonly #gateway: Gateway;
  readonly #access: Access;
  readonly #services: Services;
  readonly #bodyBytes: number;

  constructor({ gateway, guard, settings, bodyBytes, hubUrl }: ConsoleParts) {
    const { key, operators, startedAt, demo } = settings;
    const { keepMs, callsPerSecond } = settings.history;
    this.#gateway = gateway;
    this.#bodyBytes = bodyBytes;
    const { store, clock } = gateway;
    this.#access = new Access({ guard, store, clock, key, operators });
    const history = { keepMs, callsPerSecond };
    this.#services = { gateway, live: new LiveViews(gateway), startedAt, hubUrl, history, demo };
  }

  async handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    try {
      this.#access.checkSource(req);
      await (path.startsWith('/api/') ? this.#api(req, res, path) : this.#page(req, res, path));
    } catch (error) {
      const known = apiErrorOf(error) ?? this.#unforeseen();
      if (known.code === 'internal') this.#gateway.log.error('console_failed', { path, error: messageOf(error) });
      // What is left of its body is not read.
      if (!req.complete) res.setHeader('connection', 'close');
      respondApiError(res, known);
    }
  }

  #unforeseen(): ApiError {
    if (this.#gateway.store.problem === undefined) {
      return new ApiError(500, 'internal', 'internal error; the log of the gateway says more');
    }
    return new ApiError(503, 'store_unavailable', 'the store cannot be reached; the log of the gateway says why');
  }

  async #api(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const gateway = this.#gateway;
    if (gateway.isInDoubt && !(await gateway.certain())) {
      const message =
        'this gateway was stopped for a while and does not know yet which sessions are its own; try again';
      throw new ApiError(503, 'in_doubt', message, { headers: { 'retry-after': '1' } });
    }
    await serveApi({ req, res, path }, this.#services, this.#bodyBytes, async () => this.#access.admit(req));
  }

  async #page(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    if (isRead(req)) {
      if (path === '/console/' || path === '/') redirect(res);
      else await serveFile(req, res, path === '/console' ? 'index.html' : path.slice('/console/'.length));
      return;
    }
    if (req.method !== 'POST') {
      throw new ApiError(405, 'method_not_allowed', 'use GET or POST here', { headers: { allow: 'GET, HEAD, POST' } });
    }
    switch (path) {
      case '/console/sign-in': {
        const { key } = (await readJson(signInBody, req, this.#bodyBytes)) as { key: string };
        const { cookie, pageKey } = await this.#access.signIn(req, key);
        respond(res, 200, { pageKey }, { 'set-cookie': cookie });
        return;
      }
      case '/console/sign-out':
        await readJson(emptyBody, req, this.#bodyBytes);
        respond(res, 204, undefined, { 'set-cookie': await this.#access.signOut() });
        return;
      default:
        throw notFound('no such route; POST to /console/sign-in to sign in');
    }
  }
}

function redirect(res: ServerResponse): void {
  // Not for ever: another program may listen here one day.
  res.writeHead(307, { ...SECURITY_HEADERS, location: '/console' }).end();
}
