/**
 * The pages for signing in to a server. `/oauth/start/<id>` shows the server and the scopes, and its button leads to the authorization
 * server. The browser returns to `/oauth/callback`, with a segment appended for an authorization server that does not name itself.
 *
 * An attacker could send the link to another person, who would then sign in with their account for the attacker's calls. So the person
 * must be the one whose calls wait, which the console checks, or an operator who confirms it; and the browser that returns must be the
 * one that began. Loaded with the first request.
 */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ERROR_TABLE, GatewayError } from '../../core/errors.ts';
import type { Gateway } from '../../core/gateway.ts';
import type { Accounts, SignIn } from '../../core/ports/accounts.ts';
import { cleanLine } from '../../lib/clean.ts';
import { messageOf } from '../../lib/log.ts';
import { SIGN_IN_CALLBACK_PATH, SIGN_IN_START_PATH } from '../../lib/sign-in-paths.ts';
import { contentPolicy, notePage, respondPage } from '../answer/html.ts';
import { ApiError } from '../console/api-error.ts';
import type { Console } from '../console/console.ts';
import type { Person } from '../console/person.ts';
import { readBody } from '../http/body.ts';
import type { Guard } from '../http/guard.ts';
import { signInPage, type Visitor } from './html.ts';

export const OAUTH_PATH = '/oauth/';
/** The metadata document for all authorization servers, or for a single one. */
const METADATA_PATH = /^\/oauth\/client-metadata(?:\/([\w-]{43}))?\.json$/;

/** The name of the cookie key in the store. */
const KEY = 'sign-in cookies';
const COOKIE_SECONDS = 3600;
const MOST_BODY_BYTES = 16_384;

export interface SignInPagesParts {
  gateway: Pick<Gateway, 'store' | 'log'>;
  /** Whether a person may see a server; absent without access rules. */
  mayKnow?: ((person: Person, server: string) => boolean) | undefined;
  accounts: Accounts;
  guard: Guard;
  /** Identifies the person at the browser; absent if the gateway has one user, `off` if the person cannot be identified. */
  console?: Pick<Console, 'visitor' | 'signInAddress'> | 'off' | undefined;
  /** The base URL of the gateway, without a path. */
  base: () => string;
  /** The client ID metadata document; absent if authorization servers could not read it. */
  clientMetadata?: ((segment?: string) => Promise<Record<string, unknown>>) | undefined;
}

interface Page {
  status: number;
  html: string;
  headers?: Record<string, string | string[]>;
}

/** Shown as a page with the reason why a request is not possible. */
class Note extends Error {
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, text: string) {
    super(text);
    this.status = status;
    this.title = title;
  }
}

function linkIsOver(): Note {
  return new Note(
    410,
    'This link is no longer valid',
    'The sign-in is complete, or the link has expired. If a call is still waiting, it shows a new link.',
  );
}

export class SignInPages {
  readonly #parts: SignInPagesParts;
  #key: Promise<Buffer> | undefined;

  constructor(parts: SignInPagesParts) {
    this.#parts = parts;
  }

  async handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const withBody = req.method !== 'HEAD';
    try {
      this.#parts.guard.checkHost(req);
      const { status, html, headers = {} } = await this.#page(req, path);
      respondPage(res, status, html, { withBody, headers });
    } catch (error) {
      const { status, title, message } = this.#noteOf(error);
      respondPage(res, status, notePage(title, message), { withBody });
    }
  }

  async #page(req: IncomingMessage, path: string): Promise<Page> {
    const { method } = req;
    const document = METADATA_PATH.exec(path);
    if (document && this.#parts.clientMetadata !== undefined) return this.#metadata(req, document[1]);
    if (path === SIGN_IN_CALLBACK_PATH || path.startsWith(`${SIGN_IN_CALLBACK_PATH}/`)) {
      if (method !== 'GET') throw new Note(405, 'Not possible', 'Use GET here.');
      return this.#callback(req, path);
    }
    if (!path.startsWith(SIGN_IN_START_PATH)) throw new Note(404, 'Page not found', 'This page does not exist.');
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
      throw new Note(405, 'Not possible', 'Use GET or POST here.');
    }
    const signIn = await this.#find(path.slice(SIGN_IN_START_PATH.length));
    const elsewhere = this.#elsewhere(req);
    if (elsewhere !== undefined) return elsewhere;
    return method === 'POST' ? this.#begin(req, signIn) : this.#show(req, signIn);
  }

  async #metadata({ method }: IncomingMessage, segment: string | undefined): Promise<Page> {
    if (method !== 'GET' && method !== 'HEAD') throw new Note(405, 'Not possible', 'Use GET here.');
    const html = JSON.stringify(await this.#parts.clientMetadata?.(segment));
    const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' };
    return { status: 200, html, headers };
  }

  async #find(id: string): Promise<SignIn> {
    const signIn = await this.#parts.accounts.findSignIn(id);
    if (signIn !== undefined) return signIn;
    throw linkIsOver();
  }

  /** Redirects to the base URL, because the browser returns there and sends only the cookies of that host. */
  #elsewhere({ headers: { host = '' }, url, method }: IncomingMessage): Page | undefined {
    const base = this.#parts.base();
    if (method === 'POST' || host.toLowerCase() === new URL(base).host) return undefined;
    return { status: 307, html: '', headers: { location: `${base}${url ?? ''}` } };
  }

  async #show(req: IncomingMessage, signIn: SignIn): Promise<Page> {
    const visitor = await this.#visitor(req, signIn);
    if (visitor === undefined) return this.#toConsole(signIn);
    const headers = {
      // The form redirects to the authorization server, which may redirect further.
      'content-security-policy': contentPolicy("'self' https: http:"),
      // Otherwise browsers send no usable Origin header with the form.
      'referrer-policy': 'same-origin',
    };
    const namesPrincipal = this.#parts.console !== undefined;
    return { status: 200, html: signInPage({ signIn, visitor, namesPrincipal }), headers };
  }

  /** The console identifies the person, and sends the browser back. */
  #toConsole(signIn: SignIn): Page {
    const { console } = this.#parts;
    if (console === undefined || console === 'off') {
      throw new Note(
        403,
        'Not possible',
        'This gateway runs without its console, so it cannot check who you are. Ask its operator to turn the console on.',
      );
    }
    return { status: 303, html: '', headers: { location: console.signInAddress(startPath(signIn)) } };
  }

  /** `undefined` if the person is not signed in to the console. */
  async #visitor(req: IncomingMessage, signIn: SignIn): Promise<Visitor | undefined> {
    const { console, mayKnow } = this.#parts;
    if (console === undefined) return 'the person';
    const person = console === 'off' ? undefined : await console.visitor(req, startPath(signIn));
    if (person === undefined) return undefined;
    if (mayKnow?.(person, signIn.server) === false) throw linkIsOver();
    if (person.principal === signIn.principal) return 'the person';
    if (person.operator) return { operator: person.principal };
    throw new Note(
      403,
      'This link is not for you',
      `You are ${person.principal}, and this sign-in is for the calls of another person, which would use your account.`,
    );
  }

  async #begin(req: IncomingMessage, signIn: SignIn): Promise<Page> {
    this.#checkOrigin(req);
    const form = await formIn(req);
    const visitor = await this.#visitor(req, signIn);
    if (visitor === undefined) return this.#toConsole(signIn);
    if (visitor !== 'the person' && form.get('for') !== signIn.principal) return this.#show(req, signIn);
    const url = await this.#parts.accounts.authorizationUrl(signIn.id);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') {
      throw new Note(502, 'Not possible', 'The authorization server has no address that a browser can open.');
    }
    const cookie = await this.#cookie(url.searchParams.get('state') ?? '', COOKIE_SECONDS);
    return { status: 303, html: '', headers: { location: url.href, 'set-cookie': cookie } };
  }

  async #callback(req: IncomingMessage, path: string): Promise<Page> {
    const { accounts, log } = { ...this.#parts, log: this.#parts.gateway.log };
    const parameters = new URL(req.url ?? '', 'http://host').searchParams;
    const state = parameters.get('state') ?? '';
    if (state === '' || !(await this.#hasBegun(req, state))) {
      throw new Note(
        403,
        'This browser did not begin the sign-in',
        'Nothing was changed. Open the sign-in link again, and complete the sign-in in the same browser.',
      );
    }
    const headers = { 'set-cookie': await this.#cookie(state, 0) };
    try {
      const { server } = await accounts.complete(parameters, path);
      const text = `The calls that waited for ${cleanLine(server)} continue automatically. You can close this page.`;
      return { status: 200, html: notePage('You are signed in', text), headers };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      log.warn('sign_in_failed', { error: error.message });
      return { status: 400, html: notePage('You are not signed in', error.message), headers };
    }
  }

  #checkOrigin({ headers: { origin, host = '' } }: IncomingMessage): void {
    const from = origin !== undefined && URL.canParse(origin) ? new URL(origin).host : undefined;
    if (origin === undefined || from === host.toLowerCase()) return;
    throw new Note(403, 'Not possible', 'The form was sent by another page. Open the link, and use its button.');
  }

  /** Proves at the callback that the browser is the same. `Lax` cookies are also sent on a redirect from another site. */
  async #cookie(state: string, seconds: number): Promise<string> {
    const secure = this.#parts.base().startsWith('https:') ? '; Secure' : '';
    const value = seconds === 0 ? '' : await this.#proofOf(state);
    return `${cookieName(state)}=${value}; HttpOnly; SameSite=Lax; Path=${SIGN_IN_CALLBACK_PATH}; Max-Age=${seconds}${secure}`;
  }

  async #hasBegun({ headers: { cookie = '' } }: IncomingMessage, state: string): Promise<boolean> {
    const name = cookieName(state);
    const pairs = cookie.split(';').map((pair) => pair.trim().split('=', 2));
    const given = Buffer.from(pairs.find(([key]) => key === name)?.[1] ?? '');
    const expected = Buffer.from(await this.#proofOf(state));
    return given.length === expected.length && timingSafeEqual(given, expected);
  }

  async #proofOf(state: string): Promise<string> {
    this.#key ??= this.#parts.gateway.store.secret(KEY);
    try {
      return createHmac('sha256', await this.#key)
        .update(state)
        .digest('base64url');
    } catch (error) {
      this.#key = undefined;
      throw error;
    }
  }

  #noteOf(error: unknown): Note {
    if (error instanceof Note) return error;
    // Its messages are for people and contain no secrets.
    if (error instanceof GatewayError) return new Note(ERROR_TABLE[error.code].http, 'Not possible', error.message);
    if (error instanceof ApiError && error.status < 500) return new Note(error.status, 'Not possible', error.message);
    const { log, store } = this.#parts.gateway;
    log.error('sign_in_page_failed', { error: messageOf(error) });
    return store.problem === undefined
      ? new Note(500, 'Something went wrong', 'The log of the gateway contains details.')
      : new Note(503, 'Temporarily unavailable', 'The gateway cannot do this at the moment. Try again later.');
  }
}

const startPath = ({ id }: SignIn): string => `${SIGN_IN_START_PATH}${encodeURIComponent(id)}`;

/** Several sign-ins may be open in one browser. */
const cookieName = (state: string): string =>
  `meanwhile_sign_in_${createHash('sha256').update(state).digest('hex').slice(0, 12)}`;

async function formIn(req: IncomingMessage): Promise<URLSearchParams> {
  const type = req.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new Note(415, 'Not possible', 'Send the form of this page.');
  }
  const body = await readBody(req, MOST_BODY_BYTES);
  if (body.kind !== 'complete') throw new Note(400, 'Not possible', 'The form did not arrive. Send it again.');
  return new URLSearchParams(body.bytes.toString('utf8'));
}
