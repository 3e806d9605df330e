/** Entries that may still change, and what of them is not written yet. */

import type { Writable } from '../write-loop.ts';
import type { EntryContent, NewEntry } from './entry.ts';

export interface Recorded<T extends NewEntry = NewEntry> extends Writable {
  entry: T;
  /** To be written with the entry. */
  content?: EntryContent | undefined;
  /** About the size of the content that waits. */
  contentBytes?: number;
  /** An earlier run of the program may have written it: called with that entry, if there is one, before it is written. */
  adopt?: ((stored: NewEntry | undefined) => void) | undefined;
  /** When it was last written. */
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
  /** The task that asks: after a restart it is known before its call is. */
  taskId?: string | undefined;
}
