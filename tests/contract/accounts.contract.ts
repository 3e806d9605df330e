/** What every store must do for accounts at servers. `open` gives an empty store. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AccountRecord, AccountStore, StoredAccountRecord } from '../../src/core/ports/account-store.ts';
import type { Store } from '../../src/core/ports/store.ts';

export interface AccountsUnderTest {
  store: Store;
  /** Opens another gateway on the same data, or the same file again after the first one has ended without a word. */
  openAnother?: () => Promise<Store>;
  /** Whether gateways hear of each other's changes. */
  shared?: boolean;
}

const NOW = 1000;

const record = (id: string, more: Partial<AccountRecord> = {}): AccountRecord => ({
  kind: 'tokens',
  id,
  principal: 'ann',
  server: 'files',
  createdAt: NOW,
  data: 'sealed',
  ...more,
});

const ids = (found: readonly { id: string }[]): string[] => found.map(({ id }) => id);

export function accountsContract(name: string, open: () => Promise<AccountsUnderTest>): void {
  describe(`accounts contract: ${name}`, () => {
    let under: AccountsUnderTest;
    let accounts: AccountStore;
    const others: Store[] = [];

    beforeEach(async () => {
      under = await open();
      ({ accounts } = under.store);
    });
    afterEach(async () => {
      for (const each of others.splice(0)) await each.close();
      await under.store.close();
    });

    const another = async (): Promise<AccountStore> => {
      const store = (await under.openAnother?.()) ?? under.store;
      if (store !== under.store) others.push(store);
      return store.accounts;
    };
    const put = async (each: AccountRecord): Promise<StoredAccountRecord> => {
      const version = await accounts.put(each, 'any', NOW);
      if (version === undefined) throw new Error('not written');
      return { ...each, version };
    };

    it('A-S: starts empty, and returns records that were put', async () => {
      expect(await accounts.isEmpty()).toBe(true);
      expect(await accounts.get('tokens', 'a', NOW)).toBeUndefined();
      const written = await put(record('a', { keepUntil: 5000, principal: `x\0${'y'.repeat(600)}` }));
      expect(await accounts.isEmpty()).toBe(false);
      const { principal: _principal, ...rest } = written;
      expect(await accounts.get('tokens', 'a', NOW)).toMatchObject(rest);
      expect(await accounts.get('client', 'a', NOW)).toBeUndefined();
    });

    it('A-S: expired records count as absent, and can be put again', async () => {
      await put(record('a', { keepUntil: 2000 }));
      expect(await accounts.get('tokens', 'a', 1999)).toBeDefined();
      expect(await accounts.get('tokens', 'a', 2000)).toBeUndefined();
      expect(await accounts.list('tokens', {}, 2000)).toEqual([]);
      expect(await accounts.put(record('a'), 'none', 1999)).toBeUndefined();
      expect(await accounts.put(record('a'), 'none', 2000)).toEqual(expect.any(String));
      expect(await accounts.get('tokens', 'a', 9999)).toBeDefined();
    });

    it('A-S: lists the records of a kind, principal and server, the oldest first', async () => {
      await put(record('b', { createdAt: 3 }));
      await put(record('a', { createdAt: 2, server: 'mail' }));
      await put(record('c', { createdAt: 1, principal: 'bob' }));
      await put(record('d', { kind: 'sign_in' }));
      expect(ids(await accounts.list('tokens', {}, NOW))).toEqual(['c', 'a', 'b']);
      expect(ids(await accounts.list('tokens', { principal: 'ann' }, NOW))).toEqual(['a', 'b']);
      expect(ids(await accounts.list('tokens', { principal: 'ann', server: 'files' }, NOW))).toEqual(['b']);
      expect(ids(await accounts.list('sign_in', {}, NOW))).toEqual(['d']);
    });

    it('A-S: changes and deletes a record only if its version is the expected one', async () => {
      const first = await put(record('a'));
      const other = await another();
      const second = await other.put(record('a', { data: 'newer' }), first, NOW);
      expect(second).toEqual(expect.any(String));
      expect(await accounts.put(record('a', { data: 'late' }), first, NOW)).toBeUndefined();
      expect(await accounts.put(record('a', { data: 'late' }), 'none', NOW)).toBeUndefined();
      expect(await accounts.drop(first)).toBe(false);
      expect(await accounts.get('tokens', 'a', NOW)).toMatchObject({ data: 'newer', version: second });
      expect(await accounts.drop({ ...first, version: second ?? '' })).toBe(true);
      // What was deleted meanwhile does not come back.
      expect(await other.put(record('a'), { version: second ?? '' }, NOW)).toBeUndefined();
      expect(await accounts.get('tokens', 'a', NOW)).toBeUndefined();
    });

    it('A-S: accepts one of several concurrent changes of a record', async () => {
      const first = await put(record('a'));
      const other = await another();
      const all = await Promise.all(
        Array.from({ length: 10 }, async (_, index) =>
          (index % 2 === 0 ? accounts : other).put(record('a', { data: String(index) }), first, NOW),
        ),
      );
      expect(all.filter((version) => version !== undefined)).toHaveLength(1);
    });

    it('A-S: gives a claim to one caller until it expires, is released, or the record changes', async () => {
      const first = await put(record('a'));
      const other = await another();
      const claim = (by: string, ms = 60_000) => ({ by, ms, now: Date.now() });
      expect(await accounts.claim(first, claim('one'))).toBe(true);
      expect(await other.claim(first, claim('two'))).toBe(false);
      expect(await accounts.claim(first, claim('one', 300))).toBe(true);
      await vi.waitFor(async () => expect(await other.claim(first, claim('two'))).toBe(true), { interval: 50 });
      await accounts.release(first, 'one');
      expect(await accounts.claim(first, claim('one'))).toBe(false);
      await other.release(first, 'two');
      expect(await accounts.claim(first, claim('one'))).toBe(true);
      const second = await accounts.put(record('a'), first, NOW);
      expect(await other.claim(first, claim('two'))).toBe(false);
      expect(await other.claim({ ...first, version: second ?? '' }, claim('two'))).toBe(true);
    });

    it('A-S: refuses to delete a record for a caller that has lost its claim', async () => {
      const first = await put(record('a'));
      await accounts.claim(first, { by: 'two', ms: 60_000, now: Date.now() });
      expect(await accounts.drop(first, 'one')).toBe(false);
      expect(await accounts.drop(first, 'two')).toBe(true);
    });

    it('A-S: gives one of several concurrent callers the claim of a record', async () => {
      const first = await put(record('a'));
      const other = await another();
      const all = await Promise.all(
        Array.from({ length: 10 }, async (_, index) =>
          (index % 2 === 0 ? accounts : other).claim(first, { by: String(index), now: 1000, ms: 60_000 }),
        ),
      );
      expect(all.filter(Boolean)).toHaveLength(1);
    });

    it('A-S: deletes expired records, and sign-ins above the limits', async () => {
      await put(record('old', { keepUntil: 1500 }));
      await put(record('kept'));
      for (let index = 0; index < 6; index += 1) {
        const principal = index < 4 ? 'ann' : 'bob';
        await put(record(`s${index}`, { kind: 'sign_in', createdAt: index, principal }));
      }
      await accounts.trim(1500, { perPrincipal: 3, total: 4 });
      expect(ids(await accounts.list('tokens', {}, 0))).toEqual(['kept']);
      expect(ids(await accounts.list('sign_in', {}, 0))).toEqual(['s2', 's3', 's4', 's5']);
    });

    it('A-S: notifies other gateways of changed tokens only', async ({ skip }) => {
      if (under.shared !== true) return skip('for stores that another gateway can open');
      const other = await another();
      const here = vi.fn();
      const there = vi.fn();
      accounts.watch(here);
      const stop = other.watch(there);
      await put(record('s', { kind: 'sign_in' }));
      const first = await put(record('a'));
      const version = (await accounts.put(record('a', { data: 'renewed' }), first, NOW)) ?? '';
      await accounts.drop({ ...first, version });
      const tokens = { principal: 'ann', server: 'files' };
      await vi.waitFor(() =>
        expect(there.mock.calls).toEqual([
          [{ ...tokens, what: 'signed_in' }],
          [{ ...tokens, what: 'renewed' }],
          [{ ...tokens, what: 'signed_out' }],
        ]),
      );
      stop();
      const long = await other.put(record('b', { principal: 'ä'.repeat(5000) }), 'any', NOW);
      expect(long).toEqual(expect.any(String));
      await vi.waitFor(() => expect(here).toHaveBeenCalledTimes(1));
      expect(there).toHaveBeenCalledTimes(3);
    });
  });
}
