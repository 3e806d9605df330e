import { expect, test } from 'vitest';
import { launchLink, pageToReturnTo } from './launch-link.ts';
import { hrefOf, parseRoute } from './route.ts';

test('W-6: every item has a link, whatever characters its name has', () => {
  for (const [page, id] of [
    ['inbox', '01M7'],
    ['work', 'a b/c?d#e'],
    ['servers', 'ä%'],
  ] as const) {
    const filters = { text: 'x & y' };
    expect(parseRoute(hrefOf(page, id, filters))).toEqual({ page, id, filters });
  }
  expect(parseRoute(hrefOf('sessions'))).toEqual({ page: 'sessions', filters: {} });
  expect(parseRoute('#/nowhere')).toEqual({ page: 'inbox', filters: {} });
  expect(parseRoute('#/q/%zz')).toMatchObject({ id: '%zz' });
});

test('W-7: a launch link has a key and may have a page to open', () => {
  expect(launchLink('#key=a%2Bb')).toEqual({ key: 'a+b', to: '#/inbox' });
  expect(launchLink('#key=abc&to=/q/1')).toEqual({ key: 'abc', to: '#/q/1' });
  expect(launchLink('#key=abc&to=//evil.example')).toEqual({ key: 'abc', to: '#/evil.example' });
  expect(launchLink('#key=%zz')).toEqual({ key: '%zz', to: '#/inbox' });
  expect(launchLink('#/work')).toBeUndefined();
  expect(launchLink('#key=abc&to=/oauth/start/x1')).toEqual({ key: 'abc', to: '#to=/oauth/start/x1' });
  expect(launchLink('#key=abc&to=/oauth/start//evil.example')?.to).toBe('#/oauth/start//evil.example');
  expect(pageToReturnTo('#to=/oauth/start/x1')).toBe('/oauth/start/x1');
  for (const hash of ['#to=//evil.example', '#to=https://evil.example', '#to=/mcp', '#to=', '#/inbox', '']) {
    expect(pageToReturnTo(hash), hash).toBeUndefined();
  }
});
