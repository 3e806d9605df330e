/** Much to see, written into the history as a gateway would write it. */
import type { CallEntry, EntryContent, EntryWrite, QuestionEntry } from '../../src/core/history/entry.ts';
import type { TestGateway } from '../support/gateway.ts';

const ABOUT = { principal: 'local', server: 'office', sessionId: 'busy', program: 'claude-code' };
const CHUNK = 1000;
const HOUR = 3_600_000;
/** The entries of one list must not get out of order while they are made. */
const NOW = Date.now();

type Written<T> = Omit<T, 'seq' | keyof EntryContent>;

export function openQuestion(index: number, more: Partial<Written<QuestionEntry>> = {}): EntryWrite {
  const message = `Approve number ${index}?`;
  const requestedSchema = { type: 'object', properties: { ok: { type: 'boolean', title: 'Approve' } } };
  const entry: Written<QuestionEntry> = {
    kind: 'question',
    id: `question-${String(index).padStart(6, '0')}`,
    ...ABOUT,
    asks: 'elicitation',
    mode: 'form',
    status: 'open',
    tool: 'approve',
    createdAt: NOW - HOUR + index,
    expiresAt: NOW + HOUR,
    message,
    ...more,
  };
  return { entry, content: { params: { message, requestedSchema } } };
}

export function runningTask(index: number, more: Partial<Written<CallEntry>> = {}): EntryWrite {
  const entry: Written<CallEntry> = {
    kind: 'call',
    id: `call-${String(index).padStart(6, '0')}`,
    ...ABOUT,
    taskId: `task-${index}`,
    tool: index % 3 === 0 ? 'reindex' : 'build',
    view: 'hub',
    startedAt: NOW - 60_000 - index,
    status: 'running',
    progress: { progress: index % 100, total: 100, message: `part ${index}` },
    waits: [],
    argumentBytes: 2,
    ...more,
  };
  return { entry };
}

export async function write({ gateway }: TestGateway, entries: readonly EntryWrite[]): Promise<void> {
  for (let at = 0; at < entries.length; at += CHUNK) await gateway.store.history.append(entries.slice(at, at + CHUNK));
}

export const many = (count: number, make: (index: number) => EntryWrite): EntryWrite[] =>
  Array.from({ length: count }, (_, index) => make(index));
