/** The account of the person at a server: whether they have signed in there, and the buttons to change that. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Account, NeededSignIn, Server } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';
import { hostOf } from '../../lib/host-of.ts';
import { note } from '../state/announce.ts';
import { epoch, phase } from '../state/live.ts';
import { get, post } from '../wire/api.ts';

export function AccountActions({ server }: { server: Server }): JSX.Element | null {
  const [account, setAccount] = useState<Account>();
  const [busy, setBusy] = useState(false);
  const read = async (): Promise<void> => {
    const { items } = await get<{ items: Account[] }>('/api/v1/accounts');
    const now = phase.get();
    const own = now.name === 'ready' ? now.me.principal : undefined;
    const isOwn = (each: Account): boolean => each.principal === own || each.principal === '*';
    setAccount(items.find((each) => each.server === server.name && isOwn(each)));
  };
  useEffect(() => {
    read().catch((error: unknown) => note(messageOf(error), 'problem'));
  }, [server.name, server.state, epoch.get()]);
  const act = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    try {
      await work();
      await read();
    } catch (error) {
      note(messageOf(error), 'problem');
    }
    setBusy(false);
  };
  const path = `/api/v1/servers/${encodeURIComponent(server.name)}`;
  const signIn = async (): Promise<void> => {
    const { url } = await post<NeededSignIn>(`${path}/sign-in`, {});
    // The page is one of the gateway itself, and leads on from there.
    if (url !== undefined && /^https?:/.test(url)) window.open(url, '_blank', 'noopener');
  };
  const signOut = async (): Promise<void> => {
    await post(`${path}/sign-out`, {});
    note(`Signed out of ${server.name}.`);
  };
  if (account === undefined && server.needsSignIn !== true) return null;
  const isShared = account?.principal === '*';
  const now = phase.get();
  const maySignOut = !isShared || (now.name === 'ready' && now.me.operator);
  return (
    <div class="actions">
      {account === undefined || server.needsSignIn === true ? (
        <button type="button" class="primary" disabled={busy} onClick={() => void act(signIn)}>
          Sign in
        </button>
      ) : (
        <>
          <span class="light">
            Signed in at {hostOf(account.issuer)}
            {isShared && ' for all users'}
            {account.scopes.length > 0 && ` (${account.scopes.join(', ')})`}
          </span>
          {maySignOut && (
            <button type="button" class="quiet" disabled={busy} onClick={() => void act(signOut)}>
              Sign out
            </button>
          )}
        </>
      )}
    </div>
  );
}
