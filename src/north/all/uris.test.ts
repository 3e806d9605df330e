import { expect, test } from 'vitest';
import { splitUri, namingServer } from './uris.ts';

test.each([
  ['one', 'file:///a/b?c=d#e', 'meanwhile://one/file:///a/b?c=d#e'],
  ['my server', 'x:y', 'meanwhile://my%20server/x:y'],
  ['one', 'file:///{path}{?q}', 'meanwhile://one/file:///{path}{?q}'],
  ['one', 'ui://widget/main.html', 'ui://one/widget/main.html'],
  ['one', 'meanwhile://two/x:y', 'meanwhile://one/meanwhile://two/x:y'],
  ['one', '', 'meanwhile://one/'],
])('M-3: the URI of server %s, %s, is shown as %s and can be split again', (server, uri, shown) => {
  expect(namingServer(server, uri)).toBe(shown);
  expect(splitUri(shown)).toEqual({ server, uri });
});

test.each(['file:///a', 'meanwhile://one', 'ui://one', 'meanwhile://%zz/x', ''])('M-3: %s names no server', (uri) => {
  expect(splitUri(uri)).toBeUndefined();
});
