/** A list could not be read, although the gateway is there. */

import type { JSX } from 'preact';
import { useWatched } from '../state/collection.ts';
import { problem, readAgain } from '../state/live.ts';
import { Notice } from '../ui/parts.tsx';

export function Trouble(): JSX.Element | null {
  useWatched(problem);
  const text = problem.get();
  if (text === undefined) return null;
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
