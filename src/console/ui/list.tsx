/** A list of links with keys to move in it. The focus stays where it is when items come and go. */

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useKeys } from '../state/keys.ts';
import { show } from '../state/route.ts';

interface ListProps<T> {
  label: string;
  items: readonly T[];
  keyOf: (item: T) => string;
  hrefOf: (item: T) => string;
  selected: string | undefined;
  render: (item: T) => ComponentChildren;
  className?: string;
}

/** Beside the list there is room for an item. */
export const isWide = (): boolean => globalThis.matchMedia('(min-width: 900px)').matches;

export function List<T>(props: ListProps<T>): JSX.Element {
  const { label, items, keyOf, hrefOf, selected, render, className = '' } = props;
  const list = useRef<HTMLUListElement>(null);
  const focused = useRef<number>(-1);

  const rows = (): HTMLAnchorElement[] => [...(list.current?.querySelectorAll<HTMLAnchorElement>('a.row') ?? [])];
  const move = (step: number): void => {
    const links = rows();
    const at = links.findIndex((link) => link === document.activeElement);
    const current = at >= 0 ? at : items.findIndex((item) => keyOf(item) === selected);
    const next = Math.max(0, Math.min(items.length - 1, current + step));
    const item = items[next];
    if (item === undefined) return;
    if (selected !== undefined || isWide()) show(hrefOf(item));
    links[next]?.focus({ preventScroll: true });
    links[next]?.scrollIntoView({ block: 'nearest' });
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: enterDetail,
  });

  // When the row with the focus disappears, the focus goes to the one that takes its place.
  useLayoutEffect(() => {
    if (focused.current < 0 || document.activeElement !== document.body) return;
    const links = rows();
    links[Math.min(focused.current, links.length - 1)]?.focus({ preventScroll: true });
  });

  return (
    <ul
      ref={list}
      class={`list ${className}`}
      aria-label={label}
      onFocusIn={({ target }) => (focused.current = rows().indexOf(target as HTMLAnchorElement))}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget !== null) focused.current = -1;
      }}
    >
      {items.map((item) => (
        <Row key={keyOf(item)} item={item} href={hrefOf(item)} current={keyOf(item) === selected} render={render} />
      ))}
    </ul>
  );
}

interface RowProps<T> {
  item: T;
  href: string;
  current: boolean;
  render: (item: T) => ComponentChildren;
}

function Row<T>({ item, href, current, render }: RowProps<T>): JSX.Element {
  // The same element again costs nothing: only rows that have changed are compared.
  return useMemo(
    () => (
      <li>
        <a class="row" href={href} aria-current={current ? 'true' : undefined}>
          {render(item)}
        </a>
      </li>
    ),
    [item, href, current],
  );
}

/** From the list into the item: to its first input, or to its heading. */
export function enterDetail(): void {
  const detail = document.querySelector<HTMLElement>('.detail');
  const input = detail?.querySelector<HTMLElement>('form input, form textarea, form select');
  (input ?? detail?.querySelector<HTMLElement>('h2'))?.focus();
}
