/** Unsent input and tried calls, kept while the person visits other pages. */

import type { Draft } from '../form/draft.ts';

/** Forms of questions and tools. */
export const formDrafts = new Map<string, Draft>();
/** Replies to sampling requests. */
export const replyDrafts = new Map<string, string>();

/** The last call of each tool that was tried. */
export const tried = new Map<string, string>();

export function forgetDraft(key: string): void {
  formDrafts.delete(key);
  replyDrafts.delete(key);
}

export function forgetDrafts(): void {
  formDrafts.clear();
  replyDrafts.clear();
  tried.clear();
}
