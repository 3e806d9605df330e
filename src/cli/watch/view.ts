/** The work of a gateway as text, for `status` and `watch`. */

import { cleanLine } from '../../lib/clean.ts';
import type { Call, Me, Question, Server, Session } from '../../lib/api-items.ts';
import { callerOf, serverAndTool, callState, subjectOf, waitOf } from '../gateway/words.ts';
import { fit, table } from '../terminal/layout.ts';
import { howFar } from '../terminal/progress-line.ts';
import type { Style } from '../terminal/style.ts';
import { showDuration } from '../units.ts';

export interface WatchViewOptions {
  style: Style;
  columns: number;
  /** How many lines there may be. */
  rows: number;
  now: number;
}

/** A heading and lines below it; what does not fit is counted. */
export interface TextSection {
  heading: string;
  rows: readonly (readonly string[])[];
  paint?: (text: string) => string;
}

/** The sections share the space; a section that needs less leaves the rest to the others. */
export function layOut(
  title: string,
  sections: readonly TextSection[],
  { style, columns, rows }: WatchViewOptions,
): string[] {
  const lines = [style.strong(fit(title, columns))];
  for (const [index, section] of sections.entries()) {
    const left = sections.length - index;
    const room = Math.max(1, Math.floor((rows - lines.length) / left) - HEADING_LINES);
    lines.push('', style.accent(fit(section.heading, columns)), ...linesOf(section, room, columns, style));
  }
  return lines;
}

const HEADING_LINES = 2;

function linesOf({ rows, paint = (text) => text }: TextSection, room: number, columns: number, style: Style): string[] {
  if (rows.length === 0) return [];
  const shown = rows.length <= room ? rows : rows.slice(0, Math.max(1, room - 1));
  const more = rows.length - shown.length;
  const lines = table(shown, columns - INDENT.length).split('\n');
  return [
    ...lines.map((line) => paint(`${INDENT}${line}`)),
    ...(more > 0 ? [style.faint(`${INDENT}and ${more} more`)] : []),
  ];
}

const INDENT = '  ';

export function titleOf({ gateway, principal, operator }: Me, where: string, now: number): string {
  const up = showDuration(Math.max(0, now - gateway.startedAt));
  const who = `${cleanLine(principal)}${operator ? ' (operator)' : ''}`;
  return [`meanwhile ${cleanLine(gateway.version)}`, cleanLine(where), `up ${up}`, who].join('  ');
}

export function questionSection(questions: readonly Question[], { style, now }: WatchViewOptions): TextSection {
  const count = questions.length;
  const wait = count === 1 ? '1 open question' : `${count} open questions`;
  return {
    heading: count === 0 ? 'no open questions' : `${wait} (meanwhile inbox)`,
    rows: questions.map((question) => [serverAndTool(question), waitOf(question, now), subjectOf(question)]),
    paint: style.warning,
  };
}

export function workSection(calls: readonly Call[], { columns, now }: WatchViewOptions): TextSection {
  const waiting = calls.filter(({ status }) => status === 'waiting').length;
  const counts = [`${calls.length - waiting} running`, ...(waiting > 0 ? [`${waiting} waiting`] : [])].join(', ');
  return {
    heading: calls.length === 0 ? 'no running calls' : `calls: ${counts}`,
    rows: calls.map((call) => [
      serverAndTool(call),
      showDuration(Math.max(0, now - call.startedAt)),
      call.progress === undefined ? '' : howFar(call.progress, columns).join(' '),
      callerOf(call),
      callState(call),
    ]),
  };
}

export function endedSection(calls: readonly Call[], { style, now }: WatchViewOptions): TextSection {
  return {
    heading: calls.length === 0 ? 'no ended calls' : 'ended',
    rows: calls.map((call) => [
      serverAndTool(call),
      `${showDuration(Math.max(0, now - (call.endedAt ?? now)))} ago`,
      `took ${showDuration(Math.max(0, (call.endedAt ?? now) - call.startedAt))}`,
      callerOf(call),
      callState(call),
    ]),
    paint: style.faint,
  };
}

export function serverSection(servers: readonly Server[]): TextSection {
  return {
    heading: servers.length === 0 ? 'no servers' : 'servers',
    rows: servers.map(({ name, state, sessions, latencyMs, error, fix }) => [
      cleanLine(name),
      state,
      `${sessions} session${sessions === 1 ? '' : 's'}`,
      latencyMs === undefined ? '' : `${Math.round(latencyMs)} ms`,
      [error, fix && `fix: ${fix}`].filter(Boolean).map(cleanLine).join('; '),
    ]),
  };
}

export function sessionSection(sessions: readonly Session[]): TextSection {
  const connected = sessions.filter((session) => session.connected).length;
  return {
    heading: sessions.length === 0 ? 'no sessions' : `sessions: ${sessions.length}, ${connected} connected`,
    rows: sessions.map((session) => [
      callerOf(session),
      cleanLine(session.view),
      session.connected ? 'connected' : 'away',
      `${session.tasks.running} running, ${session.tasks.ended} ended`,
      session.questions === 0 ? '' : `${session.questions} waiting`,
    ]),
  };
}
