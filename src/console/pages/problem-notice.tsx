/** Something could not be read. While the gateway cannot be reached at all, the banner says so. */

import type { JSX } from 'preact';
import { useWatched } from '../state/collection.ts';
import { streamState, problem, readAgain } from '../state/live.ts';
import { Notice } from '../ui/parts.tsx';

export function ProblemNotice(): JSX.Element | null {
  useWatched(problem, streamState);
  const text = problem.get();
  if (text === undefined || streamState.get().state === 'lost') return null;
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
  useWatched(streamState);
  return text === undefined || streamState.get().state === 'lost' ? null : <Notice tone="warn">{text}</Notice>;
}
