import { expect, test } from 'vitest';
import { Preferences } from './preferences.ts';

/** Preferences, and what was written of them. */
function preferences(kept?: ConstructorParameters<typeof Preferences>[0]) {
  const written: string[] = [];
  const uris = new Map<string, string>();
  const all = new Preferences(kept, {
    changed: () => void written.push('session'),
    subscribed: ({ id, uri }) => {
      written.push(`+${uri}`);
      uris.set(id, uri);
    },
    unsubscribed: (id) => void written.push(`-${uris.get(id)}`),
  });
  return { all, written };
}

test('B-3: each subscription is stored by itself, and the session only when its list of servers changes', () => {
  const { all, written } = preferences();
  all.subscribe('one', 'a:1');
  all.subscribe('one', 'a:1');
  all.subscribe('one', 'a:2');
  all.unsubscribe('one', 'a:1');
  all.unsubscribe('one', 'a:1');
  all.unsubscribe('one', 'a:2');
  expect(written).toEqual(['+a:1', 'session', '+a:2', '-a:1', '-a:2', 'session']);
  expect(all.servers).toEqual([]);
});

test('B-3: a server with a log level is kept without subscriptions', () => {
  const { all } = preferences();
  all.setLogLevel('one', 'warning');
  all.subscribe('one', 'a:1');
  all.unsubscribe('one', 'a:1');
  expect(all.of('one')).toEqual({ uris: [], logLevel: 'warning' });
  expect(all.record).toEqual({ one: { logLevel: 'warning' } });
});

test('P-2: stored preferences are restored', () => {
  const { all } = preferences({ one: { logLevel: 'debug' } });
  all.restore([{ id: 'i', sessionId: 's', server: 'two', uri: 'b:1' }]);
  expect(all.servers).toEqual(['one', 'two']);
  expect(all.of('one')).toEqual({ uris: [], logLevel: 'debug' });
  expect(all.of('two')).toEqual({ uris: ['b:1'] });
  expect(all.of('three')).toEqual({ uris: [] });
});

test('S-3: removing a server removes its preferences', () => {
  const { all, written } = preferences();
  all.subscribe('one', 'a:1');
  all.subscribe('two', 'b:1');
  all.forget('one');
  all.forget('one');
  expect(written.slice(4)).toEqual(['-a:1', 'session']);
  expect(all.servers).toEqual(['two']);
});

test('X-3: a repeated subscription does not count against the limit', () => {
  const { all } = preferences();
  expect(all.othersThan('one', 'a:1')).toBe(0);
  all.subscribe('one', 'a:1');
  all.subscribe('one', 'a:2');
  expect(all.othersThan('one', 'a:2')).toBe(0);
  expect(all.othersThan('one', 'a:3')).toBe(2);
});
