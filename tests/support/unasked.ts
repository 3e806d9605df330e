/** What a server says without being asked: it comes on the standing stream of a session, in order. */
import { expect, vi } from 'vitest';
import type { Session } from '../../src/core/session/session.ts';
import type { V1Http } from '../servers/v1-http.ts';

const MARK = 'test://mark';

export async function say(server: V1Http, uri: string): Promise<void> {
  for (const each of server.state.sessions) await each.server.sendResourceUpdated({ uri });
}

/** Sends them all and waits until the last one has arrived. */
export async function sayAll(server: V1Http, session: Session, name: string, uris: string[]): Promise<void> {
  for (const uri of uris) await say(server, uri);
  const last = uris.at(-1);
  await vi.waitFor(() => expect(session.connections.notifications(name).at(-1)?.params['uri']).toBe(last), {
    timeout: 10_000,
  });
}

/** Waits until the session hears the server; what is said before that is lost. Nothing more is on its way then. */
export async function heard(server: V1Http, session: Session, name: string): Promise<void> {
  await vi.waitFor(
    async () => {
      await say(server, `${MARK}/first`);
      expect(session.connections.notifications(name)).not.toEqual([]);
    },
    { timeout: 10_000 },
  );
  await sayAll(server, session, name, [`${MARK}/last`]);
}
