/** A call as a bar: its whole time, with the time that it waited for a person hatched. */

import type { JSX } from 'preact';
import { duration } from '../format.ts';
import { useTick } from '../state/tick.ts';
import type { Call } from '../../lib/api-items.ts';
import { callStatus } from './words.ts';

export function CallSpan({ call }: { call: Call }): JSX.Element {
  useTick(1, call.endedAt === undefined);
  const { startedAt, waits } = call;
  const end = call.endedAt ?? Date.now();
  const whole = Math.max(1, end - startedAt);
  const waited = waits.reduce((sum, { from, to }) => sum + ((to ?? end) - from), 0);
  const percent = (part: number): string => `${Math.max(0, Math.min(100, (part / whole) * 100))}%`;
  return (
    <div class="span-box">
      <div class={`span ${callStatus(call).tone}`}>
        {waits.map(({ from, to, questionId }) => (
          <span
            key={`${questionId}-${from}`}
            class="wait"
            style={{ left: percent(from - startedAt), width: percent((to ?? end) - from) }}
          />
        ))}
      </div>
      <p class="muted">
        {duration(whole - waited)} of work{waited > 0 && `, ${duration(waited)} waiting for a person`}
      </p>
    </div>
  );
}
