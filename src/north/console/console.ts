/** The console: a page for people, and the API that it and other programs use. Loaded with the first request for either. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Gateway } from '../../core/gateway.ts';
import type { ServerConfig } from '../../core/ports/server-config.ts';
import { messageOf } from '../../lib/log.ts';
import { isBesideConsole } from '../../lib/return-path.ts';
import type { Guard } from '../http/guard.ts';
import { notePage, respondPage } from '../answer/html.ts';
import { ConsoleAccess, isRead } from './console-access.ts';
import { ApiError, apiErrorOf, notFound } from './api-error.ts';
import { serveApi } from './api/api.ts';
import { beginBody, emptyBody, passBody, signInBody } from './api/schemas.ts';
import type { Services } from './api/services.ts';
import { readJson } from './api/validate.ts';
import { LiveViews } from './live/live-views.ts';
import { LOGIN_CALLBACK_PATH, ConsoleLogin, NoScope } from './login.ts';
import type { Person } from './person.ts';
import { respond, respondApiError, SECURITY_HEADERS } from './respond.ts';
import { serveFile } from './static-files.ts';

export interface ConsoleSettings {
  /** The key of the launch link. */
  key: string;
  /** The principals that see the data of all principals. */
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
  readonly #access: ConsoleAccess;
  /** Absent without an authorization server for the console. */
  readonly #login: ConsoleLogin | undefined;
  readonly #resource: Guard['resource'];
  readonly #services: Services;
  readonly #bodyBytes: number;

  constructor({ gateway, guard, settings, bodyBytes, hubUrl }: ConsoleParts) {
    const { key, operators, startedAt, demo } = settings;
    const { keepMs, callsPerSecond } = settings.history;
    this.#gateway = gateway;
    this.#bodyBytes = bodyBytes;
    const { store, clock, audit } = gateway;
    const { resource } = guard;
    this.#resource = resource;
    this.#login =
      resource?.logins && new ConsoleLogin({ logins: resource.logins, store, clock, base: () => resource.base });
    this.#access = new ConsoleAccess({ guard, store, clock, key, operators, audit, login: this.#login });
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
      respondApiError(res, known);
    }
  }

  /**
   * The person who opens a gateway page beside the console, such as `/oauth/start/<id>`: the one that the browser is signed in as.
   * `undefined` unless the console page sent the browser there, so it must first be sent with `sendToSignIn`. The cookie
   * alone does not count, because browsers send it to every port of a host.
   */
  async visitor(req: IncomingMessage, path: string): Promise<Person | undefined> {
    return this.#access.visitor(req, path);
  }

  /** Sends a browser to the console, which sends it back to this path once the person is signed in. */
  sendToSignIn(res: ServerResponse, path: string): void {
    redirect(res, this.signInAddress(path));
  }

  signInAddress(path: string): string {
    return isBesideConsole(path) ? `/console#to=${path}` : '/console';
  }

  #choices(): { issuer: string; title: string }[] {
    return (this.#login?.choices ?? []).map(({ issuer, title }) => ({ issuer, title }));
  }

  /** A browser returns from an issuer: redirects it to the page, or shows why that failed. */
  async #arrive(req: IncomingMessage, res: ServerResponse, login: ConsoleLogin): Promise<void> {
    const withBody = req.method !== 'HEAD';
    try {
      // Link previews must not consume the link.
      if (!withBody) throw new ApiError(405, 'method_not_allowed', 'use GET here', { headers: { allow: 'GET' } });
      const { url = '' } = req;
      const parameters = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
      const { location, cookies } = await login.arrive(req, parameters);
      res.writeHead(303, { ...SECURITY_HEADERS, 'cache-control': 'no-store', location, 'set-cookie': cookies }).end();
    } catch (error) {
      this.#gateway.audit?.signInRefused('console', req.socket.remoteAddress);
      const { status, title, text, link } = this.#noteOf(error);
      // The cookie stays: the link may be forged, and the real sign-in may still be in progress.
      respondPage(res, status, notePage(title, text, link), { withBody });
    }
  }

  #noteOf(error: unknown): { status: number; title: string; text: string; link: { href: string; label: string } } {
    const again = { href: '/console', label: 'Back to the console' };
    if (error instanceof NoScope) {
      const { principal, title, endUrl } = error;
      const scopes = this.#resource?.scopes;
      const needed = scopes ? `the scope ${scopes.use}` : 'permission';
      return {
        status: 403,
        title: 'You may not use this gateway',
        text: `You have signed in with ${title}, but your account (${principal}) lacks ${needed}. Ask those who administer ${title} for it, or sign in with another account.`,
        link: endUrl === undefined ? again : { href: endUrl, label: `Sign out at ${title}` },
      };
    }
    const known = apiErrorOf(error);
    if (known === undefined || known.code === 'internal') {
      this.#gateway.log.error('console_failed', { path: LOGIN_CALLBACK_PATH, error: messageOf(error) });
    }
    const { status, message } = known ?? this.#unforeseen();
    const text = message.charAt(0).toUpperCase() + message.slice(1);
    return { status, title: 'You are not signed in', text: `${text.replace(/\.$/, '')}.`, link: again };
  }

  /** Signing out here must work even if the issuer cannot be reached. */
  async #signOutAt(req: IncomingMessage): Promise<{ title: string; url: string } | undefined> {
    try {
      return await this.#login?.end(req);
    } catch (error) {
      this.#gateway.log.warn('issuer_sign_out_unknown', { error: messageOf(error) });
      return undefined;
    }
  }

  #unforeseen(): ApiError {
    if (this.#gateway.store.problem === undefined) {
      return new ApiError(500, 'internal', "internal error; see the gateway's log");
    }
    return new ApiError(503, 'store_unavailable', "the store cannot be reached; see the gateway's log");
  }

  async #api(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const gateway = this.#gateway;
    if (gateway.isInDoubt && !(await gateway.certain())) {
      const message = 'this gateway was suspended and is checking which sessions it still owns; try again';
      throw new ApiError(503, 'in_doubt', message, { headers: { 'retry-after': '1' } });
    }
    await serveApi({ req, res, path }, this.#services, this.#bodyBytes, async () => this.#access.admit(req));
  }

  async #page(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    if (isRead(req)) {
      if (path === '/console/' || path === '/') redirect(res, '/console');
      else if (path === '/console/sign-in') respond(res, 200, { issuers: this.#choices() });
      else if (path === LOGIN_CALLBACK_PATH && this.#login !== undefined) await this.#arrive(req, res, this.#login);
      else await serveFile(req, res, path === '/console' ? 'index.html' : path.slice('/console/'.length));
      return;
    }
    if (req.method !== 'POST') {
      throw new ApiError(405, 'method_not_allowed', 'use GET or POST here', { headers: { allow: 'GET, HEAD, POST' } });
    }
    switch (path) {
      case '/console/sign-in': {
        const { key, fromLink } = (await readJson(signInBody, req, this.#bodyBytes)) as {
          key: string;
          fromLink: boolean;
        };
        const { cookies, pageKey } = await this.#access.signIn(req, key, { fromLink });
        respond(res, 200, { pageKey }, { 'set-cookie': cookies });
        return;
      }
      case '/console/sign-in/begin': {
        const { issuer, to } = (await readJson(beginBody, req, this.#bodyBytes)) as { issuer: string; to: string };
        if (this.#login === undefined) throw notFound('no issuer in the configuration has `console`');
        const { url, cookies } = await this.#login.begin(req, issuer, to);
        respond(res, 200, { url }, { 'set-cookie': cookies });
        return;
      }
      case '/console/sign-out': {
        await readJson(emptyBody, req, this.#bodyBytes);
        const issuer = await this.#signOutAt(req);
        const headers = { 'set-cookie': await this.#access.signOut() };
        if (issuer === undefined) respond(res, 204, undefined, headers);
        else respond(res, 200, { issuer }, headers);
        return;
      }
      case '/console/pass': {
        const { path: to } = (await readJson(passBody, req, this.#bodyBytes)) as { path: string };
        respond(res, 200, { location: await this.#access.addressWithPass(req, to) });
        return;
      }
      default:
        throw notFound('no such route; POST to /console/sign-in to sign in');
    }
  }
}

function redirect(res: ServerResponse, location: string): void {
  // Not permanent: another program may listen here later.
  res.writeHead(307, { ...SECURITY_HEADERS, location }).end();
}
