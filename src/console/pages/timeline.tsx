/** The calls of the last hour as bars, with a lane for each server; or the same as a table. */

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clock, duration, plural } from '../format.ts';
import { hrefOf, serverHref } from '../route.ts';
import { useWatched } from '../state/collection.ts';
import { calls, epoch, phase, putCall, servers, summaries } from '../state/live.ts';
import { route, show } from '../state/route.ts';
import { serverOf } from '../state/server-names.ts';
import { serverKey } from '../../lib/server-key.ts';
import { useTick } from '../state/tick.ts';
import { Tabs } from '../ui/split.tsx';
import { Avatar, Empty, Notice, Pill } from '../ui/parts.tsx';
import { get } from '../wire/api.ts';
import type { Call, Page, Summary } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';
import { DemoHint } from './demo-hint.tsx';
import { isCrowded, isSummary, lanesOf, ticksOf, timesOf, type Bar, type ServerLane, type Window } from './lanes.ts';
import { Unread } from './problem-notice.tsx';
import { callStatus } from './words.ts';

const MINUTE = 60_000;
const WINDOWS: [string, string][] = [
  ['5', '5 min'],
  ['15', '15 min'],
  ['60', '1 hour'],
];
const PAGES = 10;
const PAGE = 200;
const ROW = 20;

export function Timeline(): JSX.Element {
  useWatched(route, calls, summaries, epoch);
  const { filters } = route.get();
  const minutes = WINDOWS.some(([value]) => value === filters['minutes']) ? Number(filters['minutes']) : 60;
  const asTable = filters['as'] === 'table';
  // A bar of an hour moves by a pixel in four seconds.
  useTick(minutes > 20 ? 4 : 1);
  const { problem, isPartial } = useHistory();
  const set = (changed: Record<string, string | undefined>): void =>
    show(hrefOf('timeline', undefined, { ...filters, ...changed }));
  const to = Date.now();
  const span = minutes * MINUTE;
  const window: Window = { from: to - span, to, least: span / 300 };
  const items = [...calls.all(), ...summaries.all()];
  const lanes = lanesOf(items, window, (item) => serverOf(servers, item));
  return (
    <div class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>Timeline</h1>
        <Tabs
          label="How long"
          value={String(minutes)}
          options={WINDOWS}
          onChoose={(value) => set({ minutes: value })}
        />
        <Tabs
          label="Shown as"
          value={asTable ? 'table' : 'bars'}
          options={[
            ['bars', 'Bars'],
            ['table', 'Table'],
          ]}
          onChoose={(value) => set({ as: value === 'table' ? value : undefined })}
        />
      </header>
      <Unread problem={problem} />
      {isPartial && (
        <Notice tone="info">Showing the newest {(PAGES * PAGE).toLocaleString('en')} calls of the last hour.</Notice>
      )}
      <HistoryOff />
      {lanes.length === 0 ? (
        <Empty icon="timeline" title={`No calls in the last ${minutes === 60 ? 'hour' : `${minutes} minutes`}`}>
          <p>Each call is a bar in the lane of its server. The time that it waits for a person is hatched.</p>
          <DemoHint />
        </Empty>
      ) : asTable ? (
        <Table items={items} window={window} />
      ) : (
        <Bars lanes={lanes} window={window} />
      )}
    </div>
  );
}

function HistoryOff(): JSX.Element | null {
  const now = phase.get();
  if (now.name !== 'ready' || now.me.history.keepMs > 0) return null;
  return (
    <Notice tone="info">
      History is off (<code>history.keepMs</code> is 0): calls and questions are not shown.
    </Notice>
  );
}

interface History {
  problem: string | undefined;
  /** There are more calls than were read. */
  isPartial: boolean;
}

/** Reads the calls of the last hour. */
function useHistory(): History {
  const [problem, setProblem] = useState<string>();
  const [isPartial, setPartial] = useState(false);
  useEffect(() => {
    const left = new AbortController();
    const read = async (): Promise<void> => {
      let cursor: string | undefined;
      const from = Date.now() - 60 * MINUTE;
      try {
        for (let page = 0; page < PAGES && !left.signal.aborted; page += 1) {
          const { items, next } = await get<Page<Call | Summary>>('/api/v1/calls', { from, limit: PAGE, cursor });
          for (const item of items) putCall(item);
          cursor = next;
          if (next === undefined) break;
        }
        if (left.signal.aborted) return;
        setPartial(cursor !== undefined);
        setProblem(undefined);
      } catch (error) {
        setProblem(messageOf(error));
      }
    };
    void read();
    return () => left.abort();
  }, [epoch.get()]);
  return { problem, isPartial };
}

function Bars({ lanes, window }: { lanes: ServerLane[]; window: Window }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const percent = (at: number): string => `${((at - window.from) / (window.to - window.from)) * 100}%`;
  const first = lanes[0]?.bars.at(-1)?.id;
  const [reached, setReached] = useState<string>();
  const stop = lanes.some(({ bars }) => bars.some(({ id }) => id === reached)) ? reached : first;
  return (
    <div class="timeline" ref={box} onKeyDown={(event) => moveBetweenBars(event, box.current)}>
      <Legend />
      <div class="axis" aria-hidden="true">
        {ticksOf(window).map((at) => (
          <span key={at} style={{ left: `clamp(1.4em, ${percent(at)}, calc(100% - 1.4em))` }}>
            {new Date(at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })}
          </span>
        ))}
      </div>
      {lanes.map((lane) => (
        <section key={serverKey(lane.server)} class="lane" aria-label={`Calls of ${lane.server.name}`}>
          <h2>
            <Avatar name={lane.server.name} /> <a href={serverHref(lane.server)}>{lane.server.name}</a>
            <span class="light">
              {lane.server.principal !== undefined && `of ${lane.server.principal} · `}
              {plural(lane.bars.length, 'bar')}
            </span>
          </h2>
          <div class="track" style={{ height: `${lane.rows * ROW + 8}px` }}>
            {ticksOf(window).map((at) => (
              <span key={at} class="grid" style={{ left: percent(at) }} />
            ))}
            {lane.bars.map((bar) => (
              <BarLink
                key={bar.id}
                bar={bar}
                window={window}
                named={!isCrowded(lane, bar)}
                stop={bar.id === stop}
                onReach={setReached}
              />
            ))}
          </div>
        </section>
      ))}
      <p class="help">Arrow keys move between bars, Enter opens the call.</p>
    </div>
  );
}

function Legend(): JSX.Element {
  return (
    <ul class="legend" aria-label="Legend">
      {[
        ['good', 'Completed'],
        ['running', 'Running'],
        ['bad', 'Failed'],
        ['neutral', 'Cancelled'],
        ['hatched', 'Waiting for a person'],
      ].map(([tone, text]) => (
        <li key={tone}>
          <span class={`swatch ${tone}`} /> {text}
        </li>
      ))}
    </ul>
  );
}

interface BarLinkProps {
  bar: Bar;
  window: Window;
  named: boolean;
  stop: boolean;
  onReach: (id: string) => void;
}

function BarLink({ bar, window, named, stop, onReach }: BarLinkProps): JSX.Element {
  const { item, from, to, row } = bar;
  const whole = window.to - window.from;
  const start = Math.max(from, window.from);
  const left = ((start - window.from) / whole) * 100;
  const width = Math.max(((to - start) / whole) * 100, 0.3);
  const style = { left: `${left}%`, width: `${width}%`, top: `${row * ROW + 4}px` };
  const label = describe(item, to - from);
  if (isSummary(item)) {
    return (
      <span class="bar-item summary" style={style} title={label}>
        <span class="sr-only">{label}</span>
      </span>
    );
  }
  const shown = Math.max(1, to - start);
  return (
    <a
      class={`bar-item ${callStatus(item).tone}`}
      href={hrefOf('work', item.id)}
      style={style}
      title={label}
      aria-label={label}
      tabIndex={stop ? 0 : -1}
      onFocus={() => onReach(item.id)}
    >
      {item.waits.map((wait) => {
        const begin = Math.max(wait.from, start);
        const end = wait.to ?? to;
        return (
          <span
            key={`${wait.questionId}-${wait.from}`}
            class="wait"
            style={{
              left: `${((begin - start) / shown) * 100}%`,
              width: `${(Math.max(0, end - begin) / shown) * 100}%`,
            }}
          />
        );
      })}
      {named && width > 6 && <span class="bar-label">{item.tool}</span>}
    </a>
  );
}

function describe(item: Call | Summary, ms: number): string {
  if (isSummary(item))
    return `${item.tool}: ${plural(item.count, 'fast call')}, ${plural(item.errors, 'error')}, longest ${duration(item.longestMs)}`;
  const waited = waitedFor(item, item.startedAt + ms);
  const waiting = waited > 0 ? `, ${duration(waited)} of it waiting for a person` : '';
  return `${item.tool}, ${callStatus(item).text.toLowerCase()}, ${duration(ms)}${waiting}, started ${clock(item.startedAt)}`;
}

function waitedFor({ waits }: Call, now: number): number {
  return waits.reduce((sum, { from, to = now }) => sum + (to - from), 0);
}

/** Left and right in a lane, up and down to the nearest bar of the next. */
function moveBetweenBars(event: KeyboardEvent, box: HTMLElement | null): void {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
  const current = event.target instanceof Element ? event.target.closest<HTMLElement>('a.bar-item') : null;
  if (step === undefined || current === null || box === null) return;
  event.preventDefault();
  const barsIn = (lane: Element | undefined): HTMLElement[] => [
    ...(lane?.querySelectorAll<HTMLElement>('a.bar-item') ?? []),
  ];
  const lanes = [...box.querySelectorAll('.lane')];
  const lane = lanes.findIndex((each) => each.contains(current));
  if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
    const bars = barsIn(lanes[lane]);
    bars[bars.indexOf(current) + step]?.focus();
    return;
  }
  const at = current.getBoundingClientRect().left;
  const distance = (bar: HTMLElement): number => Math.abs(bar.getBoundingClientRect().left - at);
  const nearest = barsIn(lanes[lane + step]).toSorted((a, b) => distance(a) - distance(b));
  nearest[0]?.focus();
}

function Table({ items, window }: { items: (Call | Summary)[]; window: Window }): JSX.Element {
  const rows = useMemo(
    () =>
      items
        .map((item) => ({ item, ...timesOf(item, window.to) }))
        .filter(({ to }) => to >= window.from)
        .toSorted((a, b) => b.from - a.from),
    [items.length, window.to],
  );
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Calls">
      <table>
        <thead>
          <tr>
            <th scope="col">Started</th>
            <th scope="col">Server</th>
            <th scope="col">Tool</th>
            <th scope="col">State</th>
            <th scope="col" class="right">
              Took
            </th>
            <th scope="col" class="right">
              Waited for a person
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ item, from, to }) => (
            <tr key={item.id}>
              <td data-label="Started">{clock(from)}</td>
              <td data-label="Server">{item.server}</td>
              <td data-label="Tool">
                {isSummary(item) ? `${item.tool} × ${item.count}` : <a href={hrefOf('work', item.id)}>{item.tool}</a>}
              </td>
              <td data-label="State">
                {isSummary(item) ? (
                  <Pill tone={item.errors > 0 ? 'bad' : 'good'}>
                    {item.errors > 0 ? plural(item.errors, 'error') : 'Completed'}
                  </Pill>
                ) : (
                  <Pill tone={callStatus(item).tone}>{callStatus(item).text}</Pill>
                )}
              </td>
              <td data-label="Took" class="right">
                {isSummary(item) ? `up to ${duration(item.longestMs)}` : duration(to - from)}
              </td>
              <td data-label="Waited for a person" class="right">
                {isSummary(item) || item.waits.length === 0 ? '–' : duration(waitedFor(item, to))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
