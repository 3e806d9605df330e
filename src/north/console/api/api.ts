import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, notFound } from '../api-error.ts';
import { isRead, type Admitted } from '../console-access.ts';
import { respond } from '../respond.ts';
import { openApi } from './openapi.ts';
import type { RouteCall, ApiRoute } from './route.ts';
import { ROUTES } from './routes.ts';
import type { Services } from './services.ts';
import { readJson, readQuery } from './validate.ts';

export const API_ROOT = '/api/v1';

const DESCRIPTION = `${API_ROOT}/openapi.json`;

interface Found {
  route: ApiRoute;
  named: string;
}

const PATTERNS = ROUTES.map((route) => ({
  route,
  pattern: new RegExp(`^${API_ROOT}${route.path.replaceAll(/\{\w+\}/g, '([^/]+)')}$`),
}));

/** Serves one API request. `admit` returns its sender, or throws. */
export async function serveApi(
  { req, res, path }: { req: IncomingMessage; res: ServerResponse; path: string },
  services: Services,
  bodyBytes: number,
  admit: () => Promise<Admitted>,
): Promise<void> {
  if (path === DESCRIPTION && isRead(req)) {
    respond(res, 200, openApi());
    return;
  }
  // Before anything is revealed.
  const { person, by, expires } = await admit();
  const { route, named } = find(req, path);
  const query = readQuery(route.query, searchOf(req));
  const body = route.body === undefined ? undefined : await readJson(route.body, req, bodyBytes);
  const via = by === 'cookie' ? 'console' : 'terminal';
  const call = { ...services, person, expires, via, named, query, body, req, res } as RouteCall<never, never>;
  const answer = await route.run(call);
  if (answer !== undefined) respond(res, answer.status ?? 200, answer.body);
}

function find({ method = '' }: IncomingMessage, path: string): Found {
  const matching = PATTERNS.flatMap(({ route, pattern }) => {
    const match = pattern.exec(path);
    return match === null ? [] : [{ route, named: decoded(match[1] ?? '') }];
  });
  if (matching.length === 0) throw notFound(`no route '${path}'; ${DESCRIPTION} describes all of them`);
  const wanted = method === 'HEAD' ? 'GET' : method;
  const found = matching.find(({ route }) => route.method === wanted);
  if (found !== undefined) return found;
  const allow = matching.map(({ route }) => route.method).join(', ');
  throw new ApiError(405, 'method_not_allowed', `use ${allow} here`, { headers: { allow } });
}

function searchOf({ url = '' }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ApiError(400, 'invalid_parameter', `'${text}' in the path is not valid; encode it as in a URL`);
  }
}
