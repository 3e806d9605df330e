/** A question that is answered on a web page: the person sees the host, and decides, before anything is opened. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { cleanLine } from '../../lib/clean.ts';
import { addressWarnings, httpUrl } from '../http-url.ts';
import { questions } from '../state/live.ts';
import { Notice } from '../ui/parts.tsx';
import { Icon } from '../ui/icons.tsx';
import type { Question } from '../../lib/api-items.ts';
import { sendAnswer } from './answer.ts';
import { RefuseButtons } from './refuse-buttons.tsx';

export function UrlQuestion({ question }: { question: Question }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const address = addressOf(question);
  const url = httpUrl(address);
  const open = async (target: URL): Promise<void> => {
    setBusy(true);
    await sendAnswer(question, { action: 'accept' });
    setBusy(false);
    // Not if another person was faster, or the gateway did not accept the answer.
    if (questions.get(question.id)?.status === 'accepted') window.open(target.href, '_blank', 'noopener,noreferrer');
  };
  if (url === undefined) {
    return (
      <>
        <Notice tone="warn">
          The server wants to open an address that is not a web page. It is not opened: <code>{address}</code>
        </Notice>
        <div class="actions">
          <RefuseButtons question={question} busy={busy} />
        </div>
      </>
    );
  }
  return (
    <>
      <div class="address">
        <span class="muted">{question.server} wants you to open</span>
        <strong class="host">{url.host}</strong>
        <code class="url">{address}</code>
      </div>
      {addressWarnings(url).map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
      <p class="help">
        Open it only if you trust {url.host} and expect this from {question.server}. It opens in a new tab; what you
        enter there does not pass through the gateway.
      </p>
      <div class="actions">
        <button type="button" class="primary" disabled={busy} onClick={() => void open(url)}>
          <Icon name="out" /> Agree and open {url.host}
        </button>
        <RefuseButtons question={question} busy={busy} />
      </div>
    </>
  );
}

/** After the person has agreed: the browser may have blocked the new tab, and does not tell. */
export function OpenLink({ question }: { question: Question }): JSX.Element | null {
  const url = httpUrl(addressOf(question));
  if (url === undefined) return null;
  return (
    <p>
      <a href={url.href} target="_blank" rel="noopener noreferrer">
        Open {url.host}
      </a>
    </p>
  );
}

const addressOf = ({ params }: Question): string => cleanLine(params?.['url'] ?? '');
