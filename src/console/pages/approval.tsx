/** The gateway asks whether a call may be made: what it is, and the decision. */

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Question } from '../../lib/api-items.ts';
import { clean } from '../../lib/clean.ts';
import { choicesOf } from '../../lib/form/choices.ts';
import { APPROVAL_META, metaOf } from '../../lib/meta.ts';
import { isObject } from '../../lib/values.ts';
import { Section } from '../ui/parts.tsx';
import { JsonView } from '../ui/json.tsx';
import { sendAnswer } from './answer.ts';

export function ApprovalCall({ question }: { question: Question }): JSX.Element {
  const { server, tool, params, approval } = question;
  const name = approval?.tool ?? tool ?? 'the tool';
  const about = metaOf(params ?? {})[APPROVAL_META];
  const { arguments: args = question.arguments, message } = isObject(about) ? about : {};
  return (
    <>
      <p class="message">
        Allow <code>{name}</code> on {server}?{typeof message === 'string' && ` ${clean(message)}`}
      </p>
      {args !== undefined && (
        <Section title="Arguments">
          <JsonView value={args} label={`Arguments of ${name}`} />
        </Section>
      )}
    </>
  );
}

export function ApprovalForm({ question }: { question: Question }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const send = (answer: Record<string, unknown>): void => {
    setBusy(true);
    void sendAnswer(question, answer).finally(() => setBusy(false));
  };
  const decide = (decision: string): void => send({ action: 'accept', content: { decision } });
  return (
    <div class="actions">
      <button type="button" class="primary" disabled={busy} onClick={() => decide('allow')}>
        Allow once
      </button>
      {offersAlways(question) && (
        <button type="button" disabled={busy} onClick={() => decide('always')}>
          Always in this session
        </button>
      )}
      <button type="button" disabled={busy} onClick={() => send({ action: 'decline' })}>
        Deny
      </button>
    </div>
  );
}

function offersAlways({ params }: Question): boolean {
  const schema = params?.['requestedSchema'];
  const properties = isObject(schema) ? schema['properties'] : undefined;
  const decision = isObject(properties) ? properties['decision'] : undefined;
  return isObject(decision) && choicesOf(decision)?.some(({ value }) => value === 'always') === true;
}
