/** A call: its progress, its questions, what went in and what came out. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { clean, cleanLine } from '../../lib/clean.ts';
import { messageOf } from '../../lib/error-message.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import { isObject } from '../../lib/values.ts';
import { bytes, duration, moment } from '../format.ts';
import { hrefOf, serverHref } from '../route.ts';
import { download } from '../download.ts';
import { note } from '../state/announce.ts';
import { useWatched } from '../state/collection.ts';
import { calls, epoch, isRunning, questions, servers } from '../state/live.ts';
import { serverOf } from '../state/server-names.ts';
import { Blocks } from '../ui/blocks.tsx';
import { JsonView } from '../ui/json.tsx';
import { Ago, Avatar, Elapsed, Facts, Notice, Pill, ProgressBar, Section } from '../ui/parts.tsx';
import { get, post } from '../wire/api.ts';
import type { Call, Question } from '../../lib/api-items.ts';
import { QuestionView } from './question.tsx';
import { CallSpan } from './call-span.tsx';
import { Unread } from './problem-notice.tsx';
import { callStatus, headline, questionStatus } from './words.ts';

/** Reads the call with its arguments and result: once, and again when it has ended. */
export function useCall(id: string | undefined): { call: Call | undefined; problem: string | undefined } {
  useWatched(calls, questions, epoch);
  const call = calls.get(id);
  const [problem, setProblem] = useState<string>();
  const ended = call?.endedAt !== undefined;
  useEffect(() => {
    if (id === undefined) return;
    const read = async (): Promise<void> => {
      try {
        const found = await get<Call>(`/api/v1/calls/${encodeURIComponent(id)}`);
        if (found.questions !== undefined) questions.putAll(found.questions);
        calls.put(found);
        setProblem(undefined);
      } catch (error) {
        setProblem(messageOf(error));
      }
    };
    void read();
  }, [id, ended, epoch.get()]);
  return { call, problem };
}

export function CallView({ call, problem }: { call: Call; problem?: string | undefined }): JSX.Element {
  const status = callStatus(call);
  const { id, server, tool, startedAt, endedAt, waits } = call;
  const asked = questionsOf(call);
  const waited = waits.reduce((sum, { from, to }) => sum + ((to ?? endedAt ?? Date.now()) - from), 0);
  return (
    <article class="call">
      <header class="item-head">
        <Avatar name={server} />
        <div>
          <h2 tabIndex={-1}>{tool}</h2>
          <p class="muted">
            on <a href={serverHref(serverOf(servers, call))}>{server}</a> · <Ago at={startedAt} /> ·{' '}
            <Elapsed from={startedAt} to={endedAt} />
          </p>
        </div>
        <Pill tone={status.tone}>{status.text}</Pill>
      </header>
      <Unread problem={problem} />
      {isRunning(call) && <Running call={call} />}
      {asked
        .filter((question) => question.status === 'open')
        .map((question) => (
          <div key={question.id} class="inline-question">
            <QuestionView question={question} />
          </div>
        ))}
      <Outcome call={call} />
      {call.arguments !== undefined && (
        <Section title="Arguments">
          <JsonView value={call.arguments} label="Arguments" />
        </Section>
      )}
      <Section title="Time">
        <CallSpan call={call} />
      </Section>
      {asked.some((question) => question.status !== 'open') && (
        <Section title="Questions">
          <ul class="plain-list">
            {asked.map((question) => (
              <li key={question.id}>
                <a href={hrefOf('inbox', question.id)}>{headline(question)}</a>{' '}
                <Pill tone={questionStatus(question).tone}>{questionStatus(question).text}</Pill>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Facts
        items={[
          ['Started', moment(startedAt)],
          ['Took', endedAt === undefined ? undefined : duration(endedAt - startedAt)],
          ['Waited for a person', waited > 0 ? duration(waited) : undefined],
          ['Client', cleanLine(call.program ?? '')],
          ['User', call.principal],
          ['Endpoint', call.view],
          ['Session', <a href={hrefOf('work', undefined, { session: call.sessionId })}>{call.sessionId}</a>],
          ['Task', call.taskId === undefined ? undefined : <code>{call.taskId}</code>],
          ['Sent', call.argumentBytes === undefined ? undefined : bytes(call.argumentBytes)],
          ['Received', call.resultBytes === undefined ? undefined : bytes(call.resultBytes)],
          ['Id', <code>{id}</code>],
        ]}
      />
    </article>
  );
}

function questionsOf({ id, questions: own = [] }: Call): Question[] {
  const found = new Map(own.map((question) => [question.id, questions.get(question.id) ?? question]));
  for (const question of questions.all()) if (question.callId === id) found.set(question.id, question);
  return [...found.values()].toSorted((a, b) => a.createdAt - b.createdAt);
}

export const fraction = ({ progress }: Call): number | undefined =>
  progress?.total === undefined || progress.total <= 0 ? undefined : Math.min(1, progress.progress / progress.total);

function Running({ call }: { call: Call }): JSX.Element {
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const message = cleanLine(call.progress?.message ?? call.statusMessage ?? '');
  const cancel = async (): Promise<void> => {
    setBusy(true);
    try {
      calls.put(await post<Call>(`/api/v1/calls/${encodeURIComponent(call.id)}/cancel`, {}));
      note(`Cancelled ${call.tool}.`);
    } catch (error) {
      note(messageOf(error), 'problem');
    }
    setBusy(false);
    setAsking(false);
  };
  const part = fraction(call);
  return (
    <div class="running-box">
      <div class="running-line">
        <span>{call.status === 'waiting' ? 'Waiting for an answer' : message || 'Running'}</span>
        {part !== undefined && <span class="light">{Math.round(part * 100)} %</span>}
      </div>
      {call.status === 'running' && <ProgressBar value={part} label={`Progress of ${call.tool}`} />}
      <div class="actions">
        {asking ? (
          <>
            <button type="button" class="danger" disabled={busy} onClick={() => void cancel()}>
              Cancel the call
            </button>
            <button type="button" class="quiet" onClick={() => setAsking(false)}>
              Let it run
            </button>
          </>
        ) : (
          <button type="button" onClick={() => setAsking(true)}>
            Cancel…
          </button>
        )}
      </div>
    </div>
  );
}

function Outcome({ call }: { call: Call }): JSX.Element | null {
  const { error, result, status, truncated, resultBytes } = call;
  if (error !== undefined) {
    return (
      <Section title="Error">
        <div class="notice bad">
          <div>
            <p class="message">{clean(error.message)}</p>
            {error.code !== undefined && <p class="muted">Code {String(error.code)}</p>}
          </div>
        </div>
      </Section>
    );
  }
  if (result !== undefined) return <Result result={result} isError={call.isError === true} />;
  if (status === 'lost')
    return <Notice tone="warn">The gateway that ran this call stopped, so its outcome is unknown.</Notice>;
  if (call.endedAt !== undefined && truncated === true) {
    return (
      <Section title="Result">
        <p class="muted">
          The result{resultBytes !== undefined && ` (${bytes(resultBytes)})`} is too large to show here
          {call.view !== 'console' && '; the client has received it'}.
        </p>
        {call.taskId !== undefined && <DownloadResult call={call} />}
      </Section>
    );
  }
  return null;
}

/** The session of the call keeps the result for a while. */
function DownloadResult({ call }: { call: Call }): JSX.Element {
  const [busy, setBusy] = useState(false);
  const read = async (): Promise<void> => {
    setBusy(true);
    try {
      const result = await get<object>(`/api/v1/calls/${encodeURIComponent(call.id)}/result`);
      download(`${call.tool}.json`, stringifyExact(result, 2) ?? '', 'application/json');
    } catch (error) {
      note(messageOf(error), 'problem');
    }
    setBusy(false);
  };
  return (
    <div class="actions">
      <button type="button" disabled={busy} onClick={() => void read()}>
        {busy ? 'Downloading…' : 'Download the result'}
      </button>
    </div>
  );
}

function Result({ result, isError }: { result: unknown; isError: boolean }): JSX.Element {
  const { content, structuredContent } = isObject(result)
    ? result
    : { content: undefined, structuredContent: undefined };
  const hasContent = Array.isArray(content) && content.length > 0;
  if (!hasContent && structuredContent === undefined) {
    return (
      <Section title="Result">
        {Array.isArray(content) ? (
          <p class="muted">The result is empty.</p>
        ) : (
          <JsonView value={result} label="Result" />
        )}
      </Section>
    );
  }
  return (
    <>
      {hasContent && (
        <Section title={isError ? 'Error from the tool' : 'Result'}>
          <div class={isError ? 'tool-error' : ''}>
            <Blocks content={content} label="Result" />
          </div>
        </Section>
      )}
      {structuredContent !== undefined && (
        <Section title="Structured content">
          <JsonView value={structuredContent} label="Structured content" />
        </Section>
      )}
    </>
  );
}
