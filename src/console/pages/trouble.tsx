/** Something could not be read. While the gateway cannot be reached at all, the banner says so. */

import type { JSX } from 'preact';
import { useWatched } from '../state/collection.ts';
import { link, problem, readAgain } from '../state/live.ts';
import { Notice } from '../ui/parts.tsx';

export function Trouble(): JSX.Element | null {
  useWatched(problem, link);
  const text = problem.get();
  if (text === undefined || link.get().state === 'lost') return null;
  return (
    <div class="trouble">
      <Notice tone="warn">
        <p>{text}</p>
        <p>
          <button type="button" onClick={readAgain}>
            Try again
          </button>
        </p>
      </Notice>
    </div>
  );
}

export function Unread({ problem: text }: { problem: string | undefined }): JSX.Element | null {
  useWatched(link);
  return text === undefined || link.get().state === 'lost' ? null : <Notice tone="warn">{text}</Notice>;
}
