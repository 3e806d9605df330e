/** Entries that may still change, and their unwritten parts. */

import type { Writable } from '../write-loop.ts';
import type { EntryContent, NewEntry } from './entry.ts';

export interface Recorded<T extends NewEntry = NewEntry> extends Writable {
  entry: T;
  /** Unwritten content. */
  content?: EntryContent | undefined;
  /** The approximate size of the unwritten content. */
  contentBytes?: number;
  /** The entry may exist from before a restart: called with the stored entry, if any, before writing. */
  adopt?: ((stored: NewEntry | undefined) => void) | undefined;
  /** The time of the last write. */
  writtenAt?: number;
  /** The store has a version of it. */
  isStored?: boolean;
  /** Only its progress has changed. */
  isProgress?: boolean;
}

type Entry<K extends NewEntry['kind']> = Extract<NewEntry, { kind: K }>;

export interface CallRecord extends Recorded<Entry<'call'>> {
  args: Record<string, unknown>;
}

export interface QuestionRecord extends Recorded<Entry<'question'>> {
  /** The call that waits for the answer. */
  call?: CallRecord | undefined;
  /** The asking task, which is known before its call after a restart. */
  taskId?: string | undefined;
}
