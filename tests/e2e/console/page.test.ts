/** The files of the page, and the description of the API. */
import { expect, test } from 'vitest';
import { openApi } from '../../../src/north/console/api/openapi.ts';
import { ROUTES } from '../../../src/north/console/api/routes.ts';
import { raw } from '../../support/console.ts';
import { httpGateway } from '../../support/gateway.ts';
import { setup } from './setup.ts';

test('W-1, W-7: the gateway serves the page with a strict content security policy', async () => {
  const gateway = await httpGateway({});
  const page = await raw(gateway, '/console');
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers).toMatchObject({
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self' data:; " +
      "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    'cross-origin-resource-policy': 'same-origin',
  });
  // What the policy would not let run is not there.
  expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/i);
  for (const [name, type] of [
    ['app.js', 'text/javascript; charset=utf-8'],
    ['app.css', 'text/css; charset=utf-8'],
    ['icon.svg', 'image/svg+xml'],
  ]) {
    const file = await raw(gateway, `/console/${name}`);
    expect([file.status, file.headers['content-type']]).toEqual([200, type]);
    expect(file.headers).toHaveProperty('content-security-policy');
  }
});

test('W-1: files are compressed, and are not sent again to a browser that has them cached', async () => {
  const gateway = await httpGateway({});
  const whole = await fetch(new URL('/console/app.js', gateway.url), { headers: { 'accept-encoding': 'identity' } });
  expect(whole.headers.get('content-encoding')).toBeNull();
  const zipped = await fetch(new URL('/console/app.js', gateway.url), { headers: { 'accept-encoding': 'gzip' } });
  expect(zipped.headers.get('content-encoding')).toBe('gzip');
  expect(Number(zipped.headers.get('content-length'))).toBeLessThan(Number(whole.headers.get('content-length')));
  expect(await zipped.text()).toBe(await whole.text());
  const etag = String(whole.headers.get('etag'));
  const again = await raw(gateway, '/console/app.js', { headers: { 'if-none-match': etag } });
  expect([again.status, again.text]).toEqual([304, '']);
  const head = await raw(gateway, '/console/app.js', { method: 'HEAD' });
  expect([head.status, head.text, head.headers['etag']]).toEqual([200, '', etag]);
});

test('W-1: the page has one address, and no other files are served', async () => {
  const gateway = await httpGateway({});
  for (const path of ['/console/', '/']) {
    const moved = await raw(gateway, path, { headers: { accept: 'text/html,*/*' } });
    expect([moved.status, moved.headers['location']]).toEqual([307, '/console']);
  }
  expect((await raw(gateway, '/')).status).toBe(404);
  for (const path of [
    '/console/nothing.js',
    '/console/../package.json',
    '/console/%2e%2e/cli.js',
    '/console/__proto__',
  ]) {
    expect((await raw(gateway, path)).status, path).toBe(404);
  }
  expect((await raw(gateway, '/console', { method: 'DELETE' })).status).toBe(405);
  expect((await raw(gateway, '/console/nowhere', { method: 'POST' })).status).toBe(404);
  expect((await raw(gateway, '/api')).status).toBe(404);
  expect((await raw(gateway, '/console2')).status).toBe(404);
});

test('W-10: the OpenAPI document describes every route and schema', async () => {
  const { person, gateway } = await setup();
  const { status, body } = await raw(gateway, '/api/v1/openapi.json');
  expect([status, body]).toEqual([200, JSON.parse(JSON.stringify(openApi()))]);
  const paths = body['paths'] as Record<string, Record<string, unknown>>;
  for (const { method, path } of ROUTES) expect(paths[`/api/v1${path}`]).toHaveProperty(method.toLowerCase());
  const { schemas } = body['components'] as { schemas: Record<string, unknown> };
  const named = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(10);
  for (const name of named) expect(schemas).toHaveProperty(name ?? '');
  expect(JSON.stringify(body)).not.toContain('$defs');
  expect((await person.get('/me')).body).toMatchObject({
    gateway: { version: expect.any(String), startedAt: expect.any(Number) },
    history: { keepMs: 86_400_000, callsPerSecond: 25 },
    endpoints: { hub: gateway.url, all: `${gateway.url}/all` },
  });
});
