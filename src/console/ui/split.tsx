/** A list with one of its items beside it; on a narrow screen, one or the other. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useKeys } from '../state/keys.ts';
import { go, stayInList } from '../state/route.ts';
import { Icon } from './icons.tsx';

interface SplitProps {
  title: string;
  /** Beside the title. */
  aside?: ComponentChildren;
  /** Above the list. */
  tools?: ComponentChildren;
  list: ComponentChildren;
  detail?: ComponentChildren;
  /** Which item the detail shows. */
  detailId?: string | undefined;
  backHref: string;
  className?: string;
}

export function Split({
  title,
  aside,
  tools,
  list,
  detail,
  detailId,
  backHref,
  className = '',
}: SplitProps): JSX.Element {
  const pane = useRef<HTMLDivElement>(null);
  useEffect(() => {
    pane.current?.scrollTo(0, 0);
    if (detailId !== undefined && !stayInList()) pane.current?.querySelector<HTMLElement>('h2')?.focus();
  }, [detailId]);
  useKeys({
    Escape: () => {
      const active = document.activeElement;
      if (active instanceof HTMLElement && active.closest('form') !== null) active.blur();
      else if (detailId !== undefined) go(backHref);
    },
  });
  return (
    <div class={`split ${detail === undefined ? '' : 'has-detail'} ${className}`}>
      <div class="master">
        <header class="page-head">
          <h1 tabIndex={-1}>{title}</h1>
          {aside}
        </header>
        {tools !== undefined && tools !== false && <div class="tools">{tools}</div>}
        <div class="scroll">{list}</div>
      </div>
      {detail !== undefined && (
        <div class="detail" ref={pane}>
          <a class="back" href={backHref}>
            <Icon name="back" /> {title}
          </a>
          {detail}
        </div>
      )}
    </div>
  );
}

export function Search({
  value,
  label,
  onInput,
}: {
  value: string;
  label: string;
  onInput: (text: string) => void;
}): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  useKeys({ '/': () => input.current?.focus() });
  return (
    <div class="search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        value={value}
        placeholder={label}
        aria-label={label}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') input.current?.blur();
        }}
      />
    </div>
  );
}

export function Tabs<T extends string>({
  label,
  options,
  value,
  onChoose,
}: {
  label: string;
  options: [T, string][];
  value: T;
  onChoose: (value: T) => void;
}): JSX.Element {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button key={option} type="button" aria-pressed={option === value} onClick={() => onChoose(option)}>
          {text}
        </button>
      ))}
    </div>
  );
}
