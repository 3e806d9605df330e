/** Every open question, oldest first; and those that have ended. */

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { hrefOf } from '../route.ts';
import { useWatched } from '../state/collection.ts';
import {
  loaded,
  moreQuestions,
  openCount,
  openQuestions,
  questions,
  readMoreQuestions,
  fetchQuestion,
  unlisted,
} from '../state/live.ts';
import { useFound } from '../state/found-questions.ts';
import { includesText } from '../state/calls.ts';
import { route, show } from '../state/route.ts';
import { isWide, List } from '../ui/list.tsx';
import { Search, Split, Tabs } from '../ui/split.tsx';
import { Age, Ago, Avatar, Empty, Pill, Remaining } from '../ui/parts.tsx';
import type { Question } from '../../lib/api-items.ts';
import { DemoHint } from './demo-hint.tsx';
import { ProblemNotice, Unread } from './problem-notice.tsx';
import { QuestionView } from './question.tsx';
import { answeredBy, headline, questionKind, questionStatus } from './words.ts';

/** A question that ends sooner is marked. */
const SOON_MS = 120_000;

export function Inbox(): JSX.Element {
  useWatched(questions, loaded, moreQuestions, unlisted, route);
  const { id, filters } = route.get();
  const [text, setText] = useState('');
  const ended = filters['status'] === 'ended';
  const found = useFound(ended ? 'ended' : 'open', text);
  const selected = questions.get(id);
  const unknown = id !== undefined && selected === undefined;
  useEffect(() => {
    if (unknown) void fetchQuestion({ id });
  }, [id]);

  const open = openQuestions();
  const count = openCount();
  const all = ended ? endedQuestions() : withSelected(open, selected);
  const shown = all.filter((question) => found.ids.has(question.id) || matches(question, text));
  // With room for it, the first question is open from the start. A new one may arrive before the list with the older ones.
  const first = loaded.get() && !ended && id === undefined && isWide() ? shown[0]?.id : undefined;
  useEffect(() => {
    if (first !== undefined) show(hrefOf('inbox', first));
  }, [first]);

  const missing = id !== undefined && selected === undefined && loaded.get();
  return (
    <Split
      title="Inbox"
      backHref={hrefOf('inbox', undefined, { status: filters['status'] })}
      detailId={id}
      aside={
        <Tabs
          label="Which questions"
          value={ended ? 'ended' : 'open'}
          options={[
            ['open', `Open ${count === 0 ? '' : count.toLocaleString()}`],
            ['ended', 'Ended'],
          ]}
          onChoose={(status) => show(hrefOf('inbox', undefined, { status: status === 'ended' ? status : undefined }))}
        />
      }
      tools={
        all.length > 5 || text !== '' ? (
          <Search value={text} label="Filter by text, server or tool" onInput={setText} />
        ) : undefined
      }
      list={
        <>
          <ProblemNotice />
          {shown.length > 0 && (
            <List
              label={ended ? 'Ended questions' : 'Open questions'}
              items={shown}
              keyOf={(question) => question.id}
              hrefOf={(question) => hrefOf('inbox', question.id, { status: filters['status'] })}
              selected={id}
              render={(question) => <QuestionRow question={question} />}
            />
          )}
          {shown.length === 0 && loaded.get() && !found.loading && <Nothing filtered={text !== ''} ended={ended} />}
          {!ended && text === '' && moreQuestions.get() !== undefined && (
            <button type="button" class="load" onClick={() => void readMoreQuestions()}>
              Show more questions
            </button>
          )}
          {found.next && (
            <button type="button" class="load" onClick={found.readMore}>
              {ended ? 'Show earlier questions' : 'Show more questions'}
            </button>
          )}
          <Unread problem={found.problem} />
        </>
      }
      detail={
        selected !== undefined ? (
          <QuestionView key={selected.id} question={selected} />
        ) : missing ? (
          <Empty icon="question" title="Question not found">
            <p>It is unknown, has been removed from the history, or belongs to another user.</p>
          </Empty>
        ) : undefined
      }
    />
  );
}

function Nothing({ filtered, ended }: { filtered: boolean; ended: boolean }): JSX.Element {
  if (filtered) return <Empty icon="search" title="No matching questions" />;
  if (ended) {
    return (
      <Empty icon="inbox" title="No ended questions yet">
        <p>Answered questions stay here as long as the history is kept.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="inbox" title="No open questions">
      <p>
        When a server asks for a decision, for input or for a model reply, its question appears here, no matter which
        client made the call.
      </p>
      <DemoHint />
    </Empty>
  );
}

function QuestionRow({ question }: { question: Question }): JSX.Element {
  const { server, tool, createdAt, expiresAt, endedAt, status } = question;
  const state = questionStatus(question);
  const soon = status === 'open' && expiresAt !== undefined && expiresAt - Date.now() < SOON_MS;
  return (
    <>
      <Avatar name={server} />
      <span class="row-main">
        <span class="row-top">
          <span class="row-from">
            {server}
            {tool !== undefined && <span class="light"> {tool}</span>}
          </span>
          <span class="row-when">{status === 'open' ? <Age at={createdAt} /> : <Ago at={endedAt ?? createdAt} />}</span>
        </span>
        <span class="row-text">{headline(question)}</span>
        <span class="row-tags">
          {status === 'open' ? (
            <span class="tag">{questionKind(question)}</span>
          ) : (
            <>
              <Pill tone={state.tone}>{state.text}</Pill>
              <span class="light">{answeredBy(question) && `by ${answeredBy(question)}`}</span>
            </>
          )}
          {soon && (
            <span class="tag urgent">
              <Remaining until={expiresAt} />
            </span>
          )}
        </span>
      </span>
    </>
  );
}

/** The selected question stays in the list when somebody answers it, so that the person sees what happened. */
function withSelected(open: Question[], selected: Question | undefined): Question[] {
  if (selected === undefined || selected.status === 'open') return open;
  return [...open, selected].toSorted((a, b) => a.createdAt - b.createdAt);
}

function endedQuestions(): Question[] {
  const ended = questions.all().filter(({ status }) => status !== 'open');
  return ended.toSorted((a, b) => (b.endedAt ?? b.createdAt) - (a.endedAt ?? a.createdAt));
}

function matches(question: Question, text: string): boolean {
  const { id, server, tool, callId, sessionId, program, principal, reason } = question;
  return (
    text === '' ||
    includesText([id, server, tool, callId, sessionId, program, principal, reason, headline(question)], text)
  );
}
