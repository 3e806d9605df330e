/** A question: who asks, what for, and how to answer. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { clean, cleanLine } from '../../lib/clean.ts';
import type { JsonSchema } from '../../lib/form/json-schema.ts';
import { isObject } from '../../lib/values.ts';
import { SchemaForm } from '../form/form.tsx';
import { clock } from '../format.ts';
import { hrefOf } from '../route.ts';
import { useWatched } from '../state/collection.ts';
import { streamState, fetchQuestion } from '../state/live.ts';
import { Ago, Avatar, Facts, Notice, Pill, Remaining, Section } from '../ui/parts.tsx';
import { Icon } from '../ui/icons.tsx';
import { JsonView } from '../ui/json.tsx';
import type { Question } from '../../lib/api-items.ts';
import { sendAnswer } from './answer.ts';
import { ApprovalCall, ApprovalForm } from './approval.tsx';
import { RefuseButtons } from './refuse-buttons.tsx';
import { SamplingForm } from './sampling.tsx';
import { OpenLink, UrlQuestion } from './url-question.tsx';
import { answeredBy, headline, questionKind, questionStatus } from './words.ts';

export function QuestionView({ question }: { question: Question }): JSX.Element {
  const { id, server, tool, callId, program, principal, createdAt, expiresAt, status, params } = question;
  const state = questionStatus(question);
  // Events have no params, and lists leave out large ones: they are read when the question is looked at.
  // The params of an ended question that is marked as truncated may not have been kept.
  const missing = params === undefined && (status === 'open' || question.truncated !== true);
  const [wasRead, setWasRead] = useState(false);
  useWatched(streamState);
  useEffect(() => {
    if (missing) void fetchQuestion({ id }).then(setWasRead);
  }, [id, missing, streamState.get().state]);
  return (
    <article class="question">
      <header class="item-head">
        <Avatar name={server} />
        <div>
          <h2 tabIndex={-1}>
            {server}{' '}
            <span class="light">
              {question.signIn === true
                ? 'needs a sign-in'
                : question.approval === undefined
                  ? 'asks'
                  : 'needs approval'}
            </span>
          </h2>
          <p class="muted">
            {questionKind(question)}
            {tool !== undefined && (
              <>
                {' · '}
                {callId === undefined ? <code>{tool}</code> : <a href={hrefOf('work', callId)}>{tool}</a>}
              </>
            )}
            {' · '}
            <Ago at={createdAt} />
          </p>
        </div>
        {status === 'open' ? (
          expiresAt !== undefined && (
            <span class="left">
              <Icon name="clock" /> <Remaining until={expiresAt} />
            </span>
          )
        ) : (
          <Pill tone={state.tone}>{state.text}</Pill>
        )}
      </header>
      <Asked question={question} />
      {status === 'open' && question.reason !== undefined && <Notice tone="info">{clean(question.reason)}</Notice>}
      {status === 'open' ? (
        <Answering key={question.id} question={question} wasRead={wasRead} />
      ) : (
        <Ended question={question} />
      )}
      <details class="more">
        <summary>About this question</summary>
        <Facts
          items={[
            ['Asked by', server],
            ['For', program === undefined ? principal : `${cleanLine(program)} (${principal})`],
            ['Also shown', question.presented === true && status === 'open' ? 'in its client' : undefined],
            ['Id', <code>{question.id}</code>],
          ]}
        />
        {question.arguments !== undefined && question.approval === undefined && (
          <Section title={`Arguments of ${tool ?? 'the call'}`}>
            <JsonView value={question.arguments} label="Arguments" />
          </Section>
        )}
      </details>
    </article>
  );
}

function Asked({ question }: { question: Question }): JSX.Element | null {
  const { kind, params } = question;
  if (question.approval !== undefined) return <ApprovalCall question={question} />;
  if (kind === 'sampling') return null;
  const text = clean(params?.['message'] ?? question.message ?? '').trim();
  return <p class="message">{text === '' ? headline(question) : text}</p>;
}

function Answering({ question, wasRead }: { question: Question; wasRead: boolean }): JSX.Element {
  if (question.params === undefined) {
    return wasRead ? (
      <Notice tone="warn">The history does not contain the whole question. Answer it in the client.</Notice>
    ) : (
      <p class="muted">Loading…</p>
    );
  }
  if (question.approval !== undefined) return <ApprovalForm question={question} />;
  if (question.kind === 'sampling') return <SamplingForm question={question} />;
  if (question.kind === 'roots') {
    return <Notice tone="info">Only the client knows its folders. It answers automatically.</Notice>;
  }
  if (question.mode === 'url') return <UrlQuestion question={question} />;
  return <FormQuestion question={question} />;
}

function FormQuestion({ question }: { question: Question }): JSX.Element {
  const { requestedSchema } = question.params ?? {};
  const schema: JsonSchema = isObject(requestedSchema) ? requestedSchema : { type: 'object', properties: {} };
  const expressible = isObject(schema['properties']) || requestedSchema === undefined;
  return (
    <>
      {question.secret === true && (
        <Notice tone="warn">
          A field looks like a password. Servers must not ask for secrets in a form: do not enter one unless you know
          why {question.server} needs it.
        </Notice>
      )}
      <SchemaForm
        schema={schema}
        draftKey={question.id}
        limits={expressible ? undefined : 'The schema of this question cannot be shown as a form.'}
        onSubmit={async (content) => sendAnswer(question, { action: 'accept', content })}
      >
        {(busy) => (
          <>
            <button type="submit" class="primary" disabled={busy}>
              {busy ? 'Sending…' : 'Send answer'}
            </button>
            <RefuseButtons question={question} busy={busy} />
          </>
        )}
      </SchemaForm>
    </>
  );
}

function Ended({ question }: { question: Question }): JSX.Element {
  const { status, reason, endedAt, callId, tool } = question;
  const by = answeredBy(question);
  const { text, tone } = questionStatus(question);
  // Without an answer, the server did not get what it asked for.
  const seen = tone === 'neutral' && by === '' ? 'bad' : tone;
  return (
    <Notice tone={seen === 'bad' ? 'warn' : seen}>
      <p>
        <strong>{by === '' ? text : `${text} by ${by}`}</strong>
        {endedAt !== undefined && ` at ${clock(endedAt)}`}
        {status === 'expired' && '. The question was not answered in time.'}
        {status === 'lost' && '. The call that asked it was lost.'}
      </p>
      {reason !== undefined && <p>{clean(reason)}</p>}
      {question.mode === 'url' && status === 'accepted' && <OpenLink question={question} />}
      {callId !== undefined && (
        <p>
          <a href={hrefOf('work', callId)}>Show the outcome of {tool ?? 'the call'}</a>
        </p>
      )}
    </Notice>
  );
}
