/** Calls and tasks, running and ended. */

import type { JSX } from 'preact';
import { cleanLine } from '../../lib/clean.ts';
import { hrefOf } from '../route.ts';
import { useWatched } from '../state/collection.ts';
import { calls, isRunning, servers } from '../state/live.ts';
import { useCalls, type CallFilter } from '../state/calls.ts';
import { route, show } from '../state/route.ts';
import { List } from '../ui/list.tsx';
import { Search, Split, Tabs } from '../ui/split.tsx';
import { Ago, Avatar, Elapsed, Empty, Pill, ProgressBar } from '../ui/parts.tsx';
import type { Call } from '../../lib/api-items.ts';
import { CallView, fraction, useCall } from './call.tsx';
import { DemoHint } from './demo-hint.tsx';
import { Unread } from './problem-notice.tsx';
import { callStatus } from './words.ts';

type Which = 'all' | 'running' | 'ended' | 'failed';

export function Work(): JSX.Element {
  useWatched(route, servers);
  const { id, filters } = route.get();
  const filter = filterOf(filters);
  const found = useCalls(filter);
  const { call, problem } = useCall(id);
  const set = (changed: Record<string, string | undefined>): void =>
    show(hrefOf('work', id, { ...filters, ...changed }));
  const filtered = Object.keys(filter).length > 0;
  const running = calls.all().filter(isRunning).length;
  return (
    <Split
      title="Work"
      className="work"
      backHref={hrefOf('work', undefined, filters)}
      detailId={id}
      aside={
        <Tabs<Which>
          label="Which calls"
          value={(filters['show'] as Which | undefined) ?? 'all'}
          options={[
            ['all', 'All'],
            ['running', `Running ${running === 0 ? '' : running}`],
            ['ended', 'Ended'],
            ['failed', 'Failed'],
          ]}
          onChoose={(which) => set({ show: which === 'all' ? undefined : which })}
        />
      }
      tools={
        (filtered || found.items.length > 0) && (
          <>
            <Search
              value={filters['text'] ?? ''}
              label="Filter by tool, server or client"
              onInput={(text) => set({ text })}
            />
            {servers.size > 1 && (
              <select
                aria-label="Server"
                value={filters['server'] ?? ''}
                onChange={({ currentTarget }) => set({ server: currentTarget.value })}
              >
                <option value="">All servers</option>
                {[...new Set(servers.all().map(({ name }) => name))].map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            )}
            <label class="check">
              <input
                type="checkbox"
                checked={filters['task'] === 'true'}
                onChange={({ currentTarget }) => set({ task: currentTarget.checked ? 'true' : undefined })}
              />
              Tasks only
            </label>
            {filters['principal'] !== undefined && (
              <button type="button" class="quiet" onClick={() => set({ principal: undefined })}>
                Of {filters['principal']} ✕
              </button>
            )}
            {filters['session'] !== undefined && (
              <button type="button" class="quiet" onClick={() => set({ session: undefined })}>
                One session ✕
              </button>
            )}
          </>
        )
      }
      list={
        <>
          <Unread problem={found.problem} />
          {found.items.length > 0 && (
            <List
              label="Calls"
              className="calls"
              items={found.items}
              keyOf={(each) => each.id}
              hrefOf={(each) => hrefOf('work', each.id, filters)}
              selected={id}
              render={(each) => <CallRow call={each} />}
            />
          )}
          {found.items.length === 0 && !found.loading && found.problem === undefined && <Nothing filtered={filtered} />}
          {found.more && (
            <button type="button" class="load" onClick={found.readMore}>
              Show earlier calls
            </button>
          )}
        </>
      }
      detail={
        call !== undefined ? (
          <CallView key={call.id} call={call} problem={problem} />
        ) : problem !== undefined ? (
          <Empty icon="question" title="Call not found">
            <p>{problem}</p>
          </Empty>
        ) : undefined
      }
    />
  );
}

function filterOf({ show: which, server, session, principal, text, task }: Record<string, string>): CallFilter {
  return {
    ...(which === 'running' && { status: 'running' as const }),
    ...(which === 'ended' && { status: 'ended' as const }),
    ...(which === 'failed' && { outcome: 'failed' }),
    ...(server && { server }),
    ...(session && { session }),
    ...(principal && { principal }),
    ...(text && { text }),
    ...(task && { task }),
  };
}

function Nothing({ filtered }: { filtered: boolean }): JSX.Element {
  if (filtered) return <Empty icon="search" title="No matching calls" />;
  return (
    <Empty icon="work" title="No calls yet">
      <p>
        Every tool call through the gateway appears here, with its progress while it runs and its result afterwards.
      </p>
      <DemoHint />
    </Empty>
  );
}

function CallRow({ call }: { call: Call }): JSX.Element {
  const status = callStatus(call);
  const message = cleanLine((isRunning(call) ? call.progress?.message : undefined) ?? call.statusMessage ?? '');
  return (
    <>
      <Avatar name={call.server} />
      <span class="row-main">
        <span class="row-top">
          <span class="row-from">
            {call.tool} <span class="light">{call.server}</span>
          </span>
          <span class="row-when">
            <Ago at={call.startedAt} />
          </span>
        </span>
        <span class="row-tags">
          <Pill tone={status.tone}>{status.text}</Pill>
          <span class="light took">
            <Elapsed from={call.startedAt} to={call.endedAt} />
          </span>
          <span class="slot">{call.taskId !== undefined && <span class="tag">task</span>}</span>
          <span class="light who">{cleanLine(call.program ?? call.principal)}</span>
          <span class="light note">{message}</span>
        </span>
        {call.status === 'running' && fraction(call) !== undefined && (
          <ProgressBar value={fraction(call)} label={`Progress of ${call.tool}`} />
        )}
      </span>
    </>
  );
}
