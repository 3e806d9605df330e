/** Small parts that all pages use. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ago, duration, moment, roughly } from '../format.ts';
import { onTick } from '../state/tick.ts';
import { Icon, type IconName } from './icons.tsx';

export function Pill({ tone, children }: { tone: string; children: ComponentChildren }): JSX.Element {
  return <span class={`pill ${tone}`}>{children}</span>;
}

/** A server is recognized by its initial and colour. */
export function Avatar({ name }: { name: string }): JSX.Element {
  let hash = 0x81_1c_9d_c5;
  for (const letter of name) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01_00_01_93) >>> 0;
  return (
    <span class={`avatar hue-${(hash >>> 8) % 6}`} aria-hidden="true">
      {(Array.from(name)[0] ?? '?').toUpperCase()}
    </span>
  );
}

/** A text that depends on the time; it is written into the page without rendering anything again. */
function Ticking({ at, text }: { at: number; text: (now: number) => string }): JSX.Element {
  const element = useRef<HTMLTimeElement>(null);
  useLayoutEffect(() => {
    const write = (): void => {
      const now = text(Date.now());
      if (element.current !== null && element.current.textContent !== now) element.current.textContent = now;
    };
    write();
    return onTick(write);
  });
  return <time ref={element} dateTime={new Date(at).toISOString()} title={moment(at)} />;
}

export function Ago({ at }: { at: number }): JSX.Element {
  return <Ticking at={at} text={(now) => ago(at, now)} />;
}

export function Age({ at }: { at: number }): JSX.Element {
  return <Ticking at={at} text={(now) => roughly(now - at)} />;
}

export function Elapsed({ from, to }: { from: number; to?: number | undefined }): JSX.Element {
  if (to !== undefined) return <span>{duration(to - from)}</span>;
  return <Ticking at={from} text={(now) => duration(Math.floor((now - from) / 1000) * 1000)} />;
}

export function Remaining({ until }: { until: number }): JSX.Element {
  return <Ticking at={until} text={(now) => (until > now ? `${roughly(until - now)} left` : 'time expired')} />;
}

interface EmptyProps {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}

export function Empty({ icon, title, children }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Notice({ tone, children }: { tone: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class={`notice ${tone}`}>
      <Icon name={tone === 'good' || tone === 'neutral' ? 'check' : 'warning'} />
      <div>{children}</div>
    </div>
  );
}

/** A command to copy. */
export function Command({ text }: { text: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = (): void =>
    void navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => {},
    );
  return (
    <span class="command">
      <code>{text}</code>
      <button type="button" class="quiet" onClick={copy}>
        {copied ? 'Copied' : 'Copy'}
      </button>
    </span>
  );
}

/** Facts in two columns; those without a value are left out. */
export function Facts({ items }: { items: [string, ComponentChildren][] }): JSX.Element {
  const known = items.filter(([, value]) => value !== undefined && value !== '' && value !== null);
  return (
    <dl class="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function ProgressBar({ value, label }: { value: number | undefined; label: string }): JSX.Element {
  return value === undefined ? (
    <progress class="bar" aria-label={label} />
  ) : (
    <progress class="bar" max={1} value={value} aria-label={label} />
  );
}

export function Section({
  title,
  children,
  aside,
}: {
  title: string;
  children: ComponentChildren;
  aside?: ComponentChildren;
}): JSX.Element {
  return (
    <section class="section">
      <div class="section-head">
        <h3>{title}</h3>
        {aside}
      </div>
      {children}
    </section>
  );
}
