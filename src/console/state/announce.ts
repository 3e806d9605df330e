/** Announcements for screen readers, and short visible notes. */

import { Value } from './collection.ts';

export const announcement = new Value('');

/** Said politely, when the reader is idle. */
export function announce(text: string): void {
  // The same text twice in a row is only read when it differs.
  announcement.set(announcement.get() === text ? `${text}\u00A0` : text);
}

export interface Note {
  id: number;
  text: string;
  kind: 'done' | 'problem';
  href?: string;
}

export const notes = new Value<readonly Note[]>([]);
const SHOWN_MS = 6000;
let count = 0;

export function note(text: string, kind: Note['kind'] = 'done', href?: string): void {
  count += 1;
  const id = count;
  notes.set([...notes.get().slice(-2), { id, text, kind, ...(href !== undefined && { href }) }]);
  announce(text);
  setTimeout(() => dismiss(id), SHOWN_MS);
}

export function dismiss(id: number): void {
  notes.set(notes.get().filter((each) => each.id !== id));
}
