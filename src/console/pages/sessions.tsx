/** Who is connected, and what they hold. */

import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { cleanLine } from '../../lib/clean.ts';
import { plural } from '../format.ts';
import { hrefOf } from '../route.ts';
import { useWatched } from '../state/collection.ts';
import { moreSessions, phase, problem, readMoreSessions, readSessions, sessions } from '../state/live.ts';
import { Ago, Avatar, Command, Empty, Pill } from '../ui/parts.tsx';
import { ProblemNotice } from './problem-notice.tsx';
import type { Session } from '../../lib/api-items.ts';
import { SESSION_STATE } from './words.ts';

/** Those in use first. */
const ORDER: readonly Session['state'][] = ['connected', 'away', 'dormant'];

export function Sessions(): JSX.Element {
  useWatched(sessions, moreSessions, problem);
  useEffect(() => void readSessions(), []);
  const all = sessions
    .all()
    .toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || b.lastActiveAt - a.lastActiveAt);
  return (
    <div class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>Sessions</h1>
        <span class="muted">{plural(all.filter(({ connected }) => connected).length, 'client')} connected</span>
      </header>
      <ProblemNotice />
      {all.length > 0 ? <Table items={all} /> : problem.get() === undefined && <Nothing />}
      {all.some(({ state }) => state === 'dormant') && (
        <p class="help page-note">Dormant sessions are stored and continue when their client returns.</p>
      )}
      {moreSessions.get() !== undefined && (
        <button type="button" class="load" onClick={() => void readMoreSessions()}>
          Show more sessions
        </button>
      )}
    </div>
  );
}

function Nothing(): JSX.Element {
  const now = phase.get();
  const address = (now.name === 'ready' ? now.me.endpoints?.all : undefined) ?? `${location.origin}/mcp/all`;
  return (
    <Empty icon="sessions" title="No clients have connected">
      <p>Connect a client to this address, for example Claude Code:</p>
      <p>
        <Command text={`claude mcp add --transport http meanwhile ${address}`} />
      </p>
      <p>
        Or run <Command text="meanwhile link" />, which finds the clients on this machine.
      </p>
    </Empty>
  );
}

function Table({ items }: { items: Session[] }): JSX.Element {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Sessions">
      <table>
        <thead>
          <tr>
            <th scope="col">Client</th>
            <th scope="col">State</th>
            <th scope="col">User</th>
            <th scope="col">Sees</th>
            <th scope="col">Work</th>
            <th scope="col">Servers</th>
            <th scope="col">Active</th>
          </tr>
        </thead>
        <tbody>
          {items.map((session) => (
            <tr key={session.id}>
              <td data-label="Client">
                <span class="cell-name">
                  <Avatar name={session.program ?? '?'} />
                  <span>
                    {cleanLine(session.program ?? 'unknown program')}
                    <span class="light block">{session.protocolVersion}</span>
                  </span>
                </span>
              </td>
              <td data-label="State">
                <Pill tone={SESSION_STATE[session.state].tone}>{SESSION_STATE[session.state].text}</Pill>
              </td>
              <td data-label="User">{session.principal}</td>
              <td data-label="Sees">{session.server ?? session.group ?? session.view}</td>
              <td data-label="Work">
                <a href={hrefOf('work', undefined, { session: session.id })}>
                  {plural(session.tasks.running, 'running task')}
                </a>
                <span class="light block">
                  {session.tasks.ended} ended, {plural(session.questions, 'question')}
                </span>
              </td>
              <td data-label="Servers">{session.servers.join(', ') || '–'}</td>
              <td data-label="Active">
                <Ago at={session.lastActiveAt} />
                {session.gateway !== undefined && <span class="light block">at {session.gateway}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
