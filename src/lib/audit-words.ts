/** An audit line as text, for the terminal and the console. */

import type { AuditLine } from './api-items.ts';
import { cleanLine } from './clean.ts';

export interface LineWords {
  /** What happened. */
  event: string;
  /** Who did it, or for whom. */
  who: string;
  /** The object of the event. */
  what: string;
  how: string;
}

const KINDS: Record<AuditLine['kind'], string> = {
  call: 'call',
  question: 'question',
  answer: 'answer',
  approval: 'approval',
  sign_in: 'sign-in',
  server: 'server',
  gap: 'gap',
};

const PLACES: Record<string, string> = { console: 'at the console', api: 'at the API', mcp: 'at MCP' };

export function wordsOf(line: AuditLine): LineWords {
  const { kind, event } = line;
  return {
    event: `${KINDS[kind] ?? cleanLine(kind)} ${cleanLine(event)}`,
    who: whoOf(line),
    what: whatOf(line),
    how: howOf(line),
  };
}

function whoOf({ answeredBy, principal, program, kind, address }: AuditLine): string {
  if (answeredBy !== undefined) {
    const { principal: by, via, name } = answeredBy;
    return `${cleanLine(by)} (${cleanLine(name === undefined ? via : `${via} ${name}`)})`;
  }
  if (principal !== undefined)
    return program === undefined ? cleanLine(principal) : `${cleanLine(principal)} (${cleanLine(program)})`;
  return kind === 'sign_in' ? cleanLine(address ?? 'unknown') : '–';
}

function whatOf({ kind, server, tool, place, method, count, asks }: AuditLine): string {
  if (kind === 'gap') return `${count ?? 0} lines are missing`;
  if (kind === 'sign_in') {
    const where = PLACES[place ?? ''] ?? cleanLine(place ?? '');
    return method === undefined ? where : `${where} with a ${cleanLine(method)}`;
  }
  const aside = asks === undefined || asks === 'elicitation' ? undefined : `(${asks})`;
  return [server, tool, aside]
    .filter((word) => word !== undefined)
    .map(cleanLine)
    .join(' ');
}

function howOf({ kind, event, outcome, isError, errorCode, reason, address, count, startedAt, at }: AuditLine): string {
  if (kind === 'server') return cleanLine(address ?? '');
  if (kind === 'sign_in') return event === 'refused' && count !== undefined ? `${count} times` : '';
  const state = outcome === 'completed' && isError ? 'tool error' : outcome;
  const code = errorCode === undefined ? '' : ` (${errorCode})`;
  const took = startedAt === undefined ? '' : `after ${at - startedAt} ms`;
  const why = reason === undefined ? '' : `: ${cleanLine(reason)}`;
  return [`${cleanLine(state ?? '')}${code}${why}`, took].filter(Boolean).join(' ');
}
