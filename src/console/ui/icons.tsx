/** Drawn on a grid of 16 by 16. */

import type { JSX } from 'preact';

const PATHS = {
  inbox: 'M2 9.5 4 3h8l2 6.5V13H2V9.5Zm0 0h3.5L6.5 11h3l1-1.5H14',
  work: 'M2.5 4h11M2.5 8h7M2.5 12h9',
  timeline: 'M2 3.5h5M5 8h7M9 12.5h5M2 1.5v13',
  servers: 'M2.5 2.5h11v4h-11v-4Zm0 7h11v4h-11v-4ZM5 4.5h.01M5 11.5h.01',
  sessions:
    'M6 7a2.2 2.2 0 1 0 0-4.5A2.2 2.2 0 0 0 6 7Zm-4 6.5c0-2.5 1.7-4 4-4s4 1.5 4 4M10.5 3a2 2 0 0 1 0 3.8M12 9.8c1.3.5 2 1.8 2 3.7',
  audit: 'M3.5 1.5h6l3 3v10h-9v-13ZM9.5 1.5v3h3M5.5 7.5h5M5.5 10h5M5.5 12.5h3',
  back: 'M9.5 3 4.5 8l5 5',
  next: 'M6.5 3l5 5-5 5',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  warning: 'M8 2 14.5 13.5h-13L8 2Zm0 4.5v3M8 11.5h.01',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3.2l2 1.3',
  out: 'M6.5 3H3v10h10V9.5M9 2.5h4.5V7M13.5 2.5 7.5 8.5',
  link: 'M6.5 9.5 9.5 6.5M7 4.5 8.5 3a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5 7.5 13a2.8 2.8 0 0 1-4-4L5 7.5',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.7-1.3L14 14',
  play: 'M4.5 2.5v11l9-5.5-9-5.5Z',
  question: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M8 12.8h.01',
  spark: 'M8 1.5 9.5 6.5 14.5 8l-5 1.5L8 14.5 6.5 9.5 1.5 8l5-1.5L8 1.5Z',
  leave: 'M6 2.5H2.5v11H6M10 5l3 3-3 3M13 8H6',
  keyboard: 'M1.5 4h13v8h-13V4ZM4 6.5h.01M7 6.5h.01M10 6.5h.01M12 6.5h.01M5 9.5h6',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of the program. */
export function Logo(): JSX.Element {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M8 10h16M8 16h3M22 16h2M8 22h9" />
      <path class="pause" d="M15 16h3" />
    </svg>
  );
}
