/** JSON, indented and coloured. Very long values are cut until the person asks for the rest. */

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { plainText, stringifyExact } from '../../lib/exact-json.ts';
import { download } from '../download.ts';
import { bytes } from '../format.ts';
import { clean } from '../../lib/clean.ts';

const SHOWN = 20_000;
/** A browser takes long to lay out more than this. */
const MOST = 1_000_000;
/** A key, a text, a number or a word. */
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

export function JsonView({ value, label }: { value: unknown; label: string }): JSX.Element {
  const text = useMemo(() => plainText(stringifyExact(value, 2) ?? 'undefined'), [value]);
  return <LongText text={text} label={label} className="json" render={coloured} />;
}

interface LongTextProps {
  text: string;
  label: string;
  className?: string;
  render?: (text: string) => (JSX.Element | string)[];
}

export function LongText({ text, label, className = 'plain', render }: LongTextProps): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? text : text.slice(0, SHOWN);
  const rest = text.length - shown.length;
  const safe = useMemo(() => clean(shown), [shown]);
  return (
    <div class="long-text">
      {/* Long lines scroll, also by keyboard. */}
      <pre class={className} tabIndex={0} role="region" aria-label={label}>
        {render !== undefined && shown.length <= SHOWN ? render(safe) : safe}
      </pre>
      {rest > 0 && text.length <= MOST && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          Show all ({bytes(text.length)})
        </button>
      )}
      {text.length > MOST && (
        <p class="muted">
          Only the beginning is shown.{' '}
          <button type="button" class="quiet" onClick={() => download(`${label}.txt`, text, 'text/plain')}>
            Download all ({bytes(text.length)})
          </button>
        </p>
      )}
    </div>
  );
}

function coloured(text: string): (JSX.Element | string)[] {
  const parts: (JSX.Element | string)[] = [];
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    const [whole, quoted, colon] = found;
    parts.push(text.slice(at, found.index));
    const kind = quoted === undefined ? 'literal' : colon === undefined ? 'text' : 'key';
    parts.push(<span class={`j-${kind}`}>{whole}</span>);
    at = found.index + whole.length;
  }
  parts.push(text.slice(at));
  return parts;
}
