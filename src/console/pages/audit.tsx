/** The audit record: who did what, when, and how it ended. */

import type { JSX } from 'preact';
import { wordsOf } from '../../lib/audit-words.ts';
import type { AuditLine } from '../../lib/api-items.ts';
import { moment } from '../format.ts';
import { hrefOf } from '../route.ts';
import { useAudit } from '../state/audit.ts';
import { useWatched } from '../state/collection.ts';
import { servers } from '../state/live.ts';
import { route, show } from '../state/route.ts';
import { Empty, Notice, Pill } from '../ui/parts.tsx';
import { Search } from '../ui/split.tsx';

const KINDS: [AuditLine['kind'], string][] = [
  ['call', 'Calls'],
  ['question', 'Questions'],
  ['answer', 'Answers'],
  ['approval', 'Approvals'],
  ['sign_in', 'Sign-ins'],
  ['server', 'Servers'],
  ['gap', 'Gaps'],
];

export function Audit(): JSX.Element {
  useWatched(route, servers);
  const { filters } = route.get();
  const { kind, server, text } = filters;
  const found = useAudit({ kind: kind || undefined, server: server || undefined, text: text || undefined });
  const set = (changed: Record<string, string | undefined>): void =>
    show(hrefOf('audit', undefined, { ...filters, ...changed }));
  return (
    <div class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>Audit</h1>
      </header>
      <div class="tools">
        <Search value={text ?? ''} label="Filter by name, id or hash" onInput={(given) => set({ text: given })} />
        <select
          aria-label="Kind"
          value={kind ?? ''}
          onChange={({ currentTarget }) => set({ kind: currentTarget.value })}
        >
          <option value="">All kinds</option>
          {KINDS.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
            </option>
          ))}
        </select>
        <select
          aria-label="Server"
          value={server ?? ''}
          onChange={({ currentTarget }) => set({ server: currentTarget.value })}
        >
          <option value="">All servers</option>
          {servers.all().map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      {found.problem !== undefined && <Notice tone="warn">{found.problem}</Notice>}
      {found.items.length > 0 && <Table items={found.items} />}
      {found.items.length === 0 && !found.loading && found.problem === undefined && (
        <Nothing filtered={Boolean(kind || server || text)} more={found.more} />
      )}
      {found.more && (
        <button type="button" class="load" onClick={found.readMore}>
          Show earlier lines
        </button>
      )}
    </div>
  );
}

function Nothing({ filtered, more }: { filtered: boolean; more: boolean }): JSX.Element {
  // One request searches for some seconds.
  if (more) return <Empty icon="search" title="No matching lines so far" />;
  if (filtered) return <Empty icon="search" title="No matching lines" />;
  return (
    <Empty icon="audit" title="No lines yet">
      <p>Each call, question, answer, approval, sign-in and server change appears here as a line.</p>
    </Empty>
  );
}

function Table({ items }: { items: readonly AuditLine[] }): JSX.Element {
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Audit record">
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Event</th>
            <th scope="col">Who</th>
            <th scope="col">What</th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          {items.map((line) => (
            <Row key={line.seq} line={line} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ line }: { line: AuditLine }): JSX.Element {
  const { event, who, what, how } = wordsOf(line);
  const href = linkOf(line);
  return (
    <tr>
      <td data-label="Time">
        <time dateTime={new Date(line.at).toISOString()}>{moment(line.at)}</time>
      </td>
      <td data-label="Event">
        <Pill tone={toneOf(line)}>{event}</Pill>
      </td>
      <td data-label="Who">{who}</td>
      <td data-label="What">
        {href === undefined ? what : <a href={href}>{what}</a>}
        {line.contentHash !== undefined && (
          <span class="light block" title={line.contentHash}>
            {line.contentHash.slice(0, 19)}…
          </span>
        )}
      </td>
      <td data-label="Outcome">{how || '–'}</td>
    </tr>
  );
}

/** What the history may still have. */
function linkOf({ kind, callId, questionId, server }: AuditLine): string | undefined {
  if (questionId !== undefined) return hrefOf('inbox', questionId);
  if (callId !== undefined) return hrefOf('work', callId);
  return kind === 'server' && server !== undefined ? hrefOf('servers', server) : undefined;
}

function toneOf({ kind, event, outcome, isError }: AuditLine): string {
  if (kind === 'gap' || event === 'refused' || outcome === 'failed' || outcome === 'lost' || isError) return 'bad';
  if (outcome === 'completed' || outcome === 'accepted' || event === 'accepted') return 'good';
  if (event === 'asked') return 'waiting';
  return event === 'began' ? 'running' : 'neutral';
}
