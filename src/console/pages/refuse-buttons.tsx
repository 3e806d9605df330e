/** The two ways to answer a question without giving anything. */

import type { JSX } from 'preact';
import type { Question } from '../../lib/api-items.ts';
import { sendAnswer } from './answer.ts';

export function RefuseButtons({ question, busy }: { question: Question; busy: boolean }): JSX.Element {
  const send = (action: string): void => void sendAnswer(question, { action });
  return (
    <>
      <button type="button" disabled={busy} onClick={() => send('decline')} title="Refuse to answer">
        Decline
      </button>
      <button
        type="button"
        class="quiet"
        disabled={busy}
        onClick={() => send('cancel')}
        title="Close the question without a decision"
      >
        Dismiss
      </button>
    </>
  );
}
