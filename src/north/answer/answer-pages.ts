/**
 * Links that answer one question, for people who were notified of it. GET shows the question and changes nothing, since programs
 * open links, too; POST answers it. Loaded with the first request.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../../core/errors.ts';
import type { Gateway } from '../../core/gateway.ts';
import { ANSWER_KEY, ANSWER_PATH, openGrant, type AnswerGrant } from '../../core/notify/answer-link.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import type { Field } from '../../lib/form/fields.ts';
import { secretField } from '../../lib/form/secret-fields.ts';
import { messageOf } from '../../lib/log.ts';
import { ApiError, apiErrorOf } from '../console/api-error.ts';

import { doAnywhere } from '../console/work/anywhere.ts';
import type { AnswerBody } from '../console/api/schemas.ts';
import type { ShownQuestion } from '../console/work/question.ts';
import { readBody } from '../http/body.ts';
import type { Guard } from '../http/guard.ts';
import { contentFrom, enteredIn, initialEntries, simpleFields } from './form.ts';
import { notePage, questionPage, respondPage, type EnteredValues, type QuestionPage } from './html.ts';

export interface AnswerSettings {
  /** The targets whose messages may contain such links. */
  targets: readonly string[];
}

export interface AnswerParts {
  gateway: Gateway;
  guard: Guard;
  settings: AnswerSettings;
}

/** The limit on the size of an answer. */
const MOST_BODY_BYTES = 262_144;
const SHOWN_CHARS = 10_000;

/** A page shown instead of the question. */
class Note extends Error {
  readonly status: number;
  readonly title: string;
  readonly headers: Record<string, string>;
  readonly link: { href: string; label: string } | undefined;

  constructor(
    status: number,
    title: string,
    text: string,
    more: { headers?: Record<string, string>; link?: { href: string; label: string } } = {},
  ) {
    super(text);
    this.status = status;
    this.title = title;
    this.headers = more.headers ?? {};
    this.link = more.link;
  }
}

export class AnswerPages {
  readonly #gateway: Gateway;
  readonly #guard: Guard;
  readonly #targets: ReadonlySet<string>;

  constructor({ gateway, guard, settings }: AnswerParts) {
    this.#gateway = gateway;
    this.#guard = guard;
    this.#targets = new Set(settings.targets);
  }

  async handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const withBody = req.method !== 'HEAD';
    try {
      this.#guard.checkHost(req);
      const { status, html } = await this.#page(req, path.slice(ANSWER_PATH.length));
      respondPage(res, status, html, { withBody });
    } catch (error) {
      const { status, title, message, headers, link } = this.#noteOf(error);
      respondPage(res, status, notePage(title, message, link), { withBody, headers });
    }
  }

  async #page(req: IncomingMessage, token: string): Promise<{ status: number; html: string }> {
    const { method } = req;
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
      throw new Note(405, 'Not possible', 'Use GET or POST here.', { headers: { allow: 'GET, HEAD, POST' } });
    }
    const grant = await this.#grant(token);
    const question = await this.#look(grant);
    const { fields, about } = described(question, grant);
    if (method !== 'POST') return shown(about, fields, initialEntries(fields));
    const body = await formIn(req);
    const action = body.get('action');
    const entered = enteredIn(body, fields);
    if (action !== 'accept' && action !== 'decline' && action !== 'cancel') {
      return shown(about, fields, entered, { status: 422, mistake: 'Choose what to do: send, decline or cancel.' });
    }
    if (action !== 'accept') return this.#answer(grant, { action }, about, fields, entered);
    const { content, mistakes } = contentFrom(fields, entered);
    if (mistakes.size > 0) return shown(about, fields, entered, { status: 422, mistakes });
    return this.#answer(grant, { action, content }, about, fields, entered);
  }

  async #grant(token: string): Promise<AnswerGrant> {
    const gateway = this.#gateway;
    const grant = openGrant(await gateway.store.secret(ANSWER_KEY), token);
    if (grant === undefined) throw new Note(404, 'This link is not valid', 'Copy the complete link from the message.');
    if (!this.#targets.has(grant.target)) {
      throw new Note(410, 'This link is no longer valid', 'Links that answer questions have been turned off.');
    }
    if (gateway.isInDoubt && !(await gateway.certain())) throw tryAgain();
    return grant;
  }

  async #look(grant: AnswerGrant): Promise<ShownQuestion> {
    const { questionId, sessionId, principal: owner } = grant;
    const person = { principal: owner, operator: false };
    try {
      return (await doAnywhere(this.#gateway, person, {
        do: 'question',
        sessionId,
        owner,
        questionId,
      })) as ShownQuestion;
    } catch (error) {
      throw await this.#endedOr(error, grant);
    }
  }

  /** The answer counts as given by the owner of the session. */
  async #answer(
    grant: AnswerGrant,
    answer: AnswerBody,
    about: Pick<QuestionPage, 'server' | 'tool' | 'message'>,
    fields: readonly Field[],
    entered: EnteredValues,
  ): Promise<{ status: number; html: string }> {
    const { questionId, sessionId, principal: owner, target } = grant;
    const person = { principal: owner, operator: false };
    const work = { do: 'answer', sessionId, owner, questionId, answer, via: 'link', name: target } as const;
    try {
      await doAnywhere(this.#gateway, person, work);
    } catch (error) {
      if (error instanceof ApiError && error.status === 422) {
        return shown(about, fields, entered, { status: 422, mistake: error.message });
      }
      throw await this.#endedOr(error, grant);
    }
    this.#gateway.log.info('question_answered_by_link', { questionId, target });
    const done = 'action' in answer && answer.action === 'accept' ? 'Your answer was sent' : 'You have not answered';
    return { status: 200, html: notePage(done, `The server ${about.server} continues. You can close this page.`) };
  }

  /** Says how the question has ended, if it has. */
  async #endedOr(error: unknown, { questionId, expiresAt }: AnswerGrant): Promise<unknown> {
    if (!(error instanceof ApiError) || error.status !== 409) return error;
    const { store, clock, recorder } = this.#gateway;
    const [entry] = recorder === undefined ? [] : await store.history.find([questionId]);
    const found = entry?.kind === 'question' && entry.status !== 'open' ? entry : undefined;
    const title = 'This question is no longer open';
    if (found?.answeredBy !== undefined) {
      const { principal, via } = found.answeredBy;
      const how = via === 'link' ? 'with a link from a message' : `by ${principal} (${via})`;
      return new Note(410, title, `It was answered ${how}. Nothing was sent to the server now.`);
    }
    const isLate = found?.status === 'expired' || clock.now() >= expiresAt;
    const why = isLate ? 'It has expired.' : 'It was answered, or the server no longer needs the answer.';
    return new Note(410, title, `${why} Nothing was sent to the server now.`);
  }

  #noteOf(error: unknown): Note {
    if (error instanceof Note) return error;
    const known = apiErrorOf(error);
    if (known !== undefined && known.status < 500) return new Note(known.status, 'Not possible', known.message);
    if (error instanceof GatewayError) return tryAgain();
    this.#gateway.log.error('answer_page_failed', { error: messageOf(error) });
    return this.#gateway.store.problem === undefined
      ? new Note(500, 'Something went wrong', "See the gateway's log.")
      : tryAgain();
  }
}

const tryAgain = (): Note =>
  new Note(503, 'Try again later', 'The gateway cannot do this at the moment.', { headers: { 'retry-after': '1' } });

/** Throws if the question needs the console. */
function described(
  question: ShownQuestion,
  { questionId }: AnswerGrant,
): { fields: Field[]; about: Pick<QuestionPage, 'server' | 'tool' | 'message'> } {
  const { kind, params } = question;
  const server = cleanLine(question.server);
  const fields = kind === 'elicitation' && params['mode'] !== 'url' ? simpleFields(params) : undefined;
  if (fields === undefined || secretField(params['requestedSchema']) !== undefined) {
    const link = { href: `/console#/q/${encodeURIComponent(questionId)}`, label: 'Open the console' };
    throw new Note(200, `${server} asks a question`, 'You can answer it in the console.', { link });
  }
  const { message } = params;
  const text = clean(typeof message === 'string' ? message : '').slice(0, SHOWN_CHARS);
  return {
    fields,
    about: { server, tool: question.tool === undefined ? undefined : cleanLine(question.tool), message: text },
  };
}

function shown(
  about: Pick<QuestionPage, 'server' | 'tool' | 'message'>,
  fields: readonly Field[],
  entered: EnteredValues,
  more: { status?: number; mistakes?: ReadonlyMap<number, string>; mistake?: string } = {},
): { status: number; html: string } {
  const { status = 200, mistakes = new Map<number, string>(), mistake } = more;
  return { status, html: questionPage({ ...about, fields, entered, mistakes, mistake }) };
}

async function formIn(req: IncomingMessage): Promise<URLSearchParams> {
  const type = req.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new Note(415, 'Not possible', 'Use the form on this page.');
  }
  const body = await readBody(req, MOST_BODY_BYTES);
  if (body.kind === 'too-large')
    throw new Note(413, 'Too long', `An answer can have at most ${MOST_BODY_BYTES} bytes.`);
  if (body.kind === 'broken') throw new Note(400, 'Not possible', 'The answer did not arrive. Send it again.');
  return new URLSearchParams(body.bytes.toString('utf8'));
}
