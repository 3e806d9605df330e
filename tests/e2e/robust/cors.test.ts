import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { INITIALIZE, post, send, type RawAnswer } from '../../support/raw-http.ts';

const APP = 'https://app.example.com';
const TOKEN = 'ada-has-a-long-token';

/** A preflight carries no token: the browser sends that only once it was let in. */
const SETTINGS = { allowedOrigins: [APP], auth: { tokens: { ada: TOKEN } } };

const NEEDED = ['authorization', 'content-type', 'last-event-id', 'mcp-protocol-version', 'mcp-session-id'];

const preflight = (url: string, origin: string): Promise<RawAnswer> =>
  send(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': NEEDED.join(', '),
    },
  });

/** The members of a list in a header, as they are compared. */
const members = (header: unknown): string[] =>
  String(header)
    .toLowerCase()
    .split(/\s*,\s*/);

test.each([APP, 'http://localhost:3000'])(
  'X-1: a page of %s passes the CORS preflight and can read its session id',
  async (origin) => {
    const { url } = await httpGateway({}, SETTINGS);
    const { status, headers } = await preflight(url, origin);
    expect(status).toBe(204);
    expect(headers['access-control-allow-origin']).toBe(origin);
    expect(members(headers['access-control-allow-methods'])).toEqual(expect.arrayContaining(['get', 'post', 'delete']));
    expect(members(headers['access-control-allow-headers'])).toEqual(expect.arrayContaining(NEEDED));

    const opened = await post(url, INITIALIZE, { origin, authorization: `Bearer ${TOKEN}` });
    expect(opened.status).toBe(200);
    expect(opened.headers['access-control-allow-origin']).toBe(origin);
    expect(members(opened.headers['access-control-expose-headers'])).toContain('mcp-session-id');
  },
);

test('X-1: a page of another origin fails the CORS preflight', async () => {
  const { url } = await httpGateway({}, SETTINGS);
  const { status, headers } = await preflight(url, 'https://evil.example.com');
  expect(status).toBe(403);
  expect(headers['access-control-allow-origin']).toBeUndefined();
});
