/** Keyboard shortcuts. A page adds its own; they work wherever nothing is being typed. */

import { useEffect } from 'preact/hooks';

type Handler = (event: KeyboardEvent) => void;

const handlers: Map<string, Handler>[] = [];
const TYPING = 'input:not([type=radio],[type=checkbox]), textarea, select, [contenteditable]';
/** How long the second key of `g i` may take. */
const SEQUENCE_MS = 1200;
let prefix: { key: string; at: number } | undefined;

export function useKeys(keys: Record<string, Handler>): void {
  useEffect(() => {
    const mine = new Map(Object.entries(keys));
    handlers.push(mine);
    return () => void handlers.splice(handlers.indexOf(mine), 1);
  });
}

globalThis.addEventListener?.('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const target = event.target instanceof Element ? event.target : undefined;
  if (target?.closest(TYPING) && event.key !== 'Escape') return;
  // What can be pressed is pressed; the row of the open item is already open.
  if (event.key === 'Enter' && target?.closest('a:not(.row[aria-current]), button, summary, input')) return;
  // A dialog has the keyboard to itself.
  if (document.querySelector('dialog[open]') !== null) return;
  const combined =
    prefix !== undefined && Date.now() - prefix.at < SEQUENCE_MS ? `${prefix.key} ${event.key}` : undefined;
  prefix = undefined;
  const handler = (combined && find(combined)) || find(event.key);
  if (handler) {
    event.preventDefault();
    handler(event);
  } else if (handlers.some((keys) => [...keys.keys()].some((key) => key.startsWith(`${event.key} `)))) {
    prefix = { key: event.key, at: Date.now() };
  }
});

/** What was added last counts. */
function find(key: string): Handler | undefined {
  return handlers.findLast((keys) => keys.has(key))?.get(key);
}
