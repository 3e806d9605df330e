/** Everything that the page knows of the gateway: read once, and kept up to date by the stream of changes. */

import { announce, note, notes } from './announce.ts';
import { Collection, Value } from './collection.ts';
import { pageToReturnTo } from '../launch-link.ts';
import { forgetDrafts } from './drafts.ts';
import { forgetOldest } from './forget.ts';
import { route, show } from './route.ts';
import { readRunning } from './running.ts';
import { RequestError, dropRequests, get, post, whenSignedOut, whenUnreachable } from '../wire/api.ts';
import { adoptPageKey, isPageKeyOld } from '../wire/page-key.ts';
import { EventStream, type StreamState } from '../wire/stream.ts';
import { serverKey } from '../../lib/server-key.ts';
import type { Call, Me, Page, Question, Server, Session, Summary } from '../../lib/api-items.ts';
import { messageOf } from '../../lib/error-message.ts';
import { plural } from '../format.ts';

export type Phase =
  | { name: 'starting' }
  | { name: 'signed out'; reason?: string; problem?: string; issuer?: IssuerToLeave }
  | { name: 'failed'; reason: string }
  | { name: 'ready'; me: Me };

/** Where the person is still signed in, and can sign out. */
export interface IssuerToLeave {
  title: string;
  url: string;
}

/** An authorization server to sign in with. */
export interface IssuerChoice {
  issuer: string;
  title: string;
}

export const phase = new Value<Phase>({ name: 'starting' });
export const streamState = new Value<StreamState>({ state: 'connecting' });
export const questions = new Collection<Question>(({ id }) => id, ['params', 'arguments', 'secret']);
export const calls = new Collection<Call>(({ id }) => id, ['arguments', 'result', 'questions']);
export const summaries = new Collection<Summary>(({ id }) => id);
export const servers = new Collection<Server>(serverKey, ['tools', 'log', 'calls', 'latencyMs']);
export const sessions = new Collection<Session>(({ id }) => id);
/** There are more stored sessions than the page has read. */
export const moreSessions = new Value<string | undefined>(undefined);
/** There are more open questions than the page has read. */
export const moreQuestions = new Value<string | undefined>(undefined);
/** How many more questions are open than the page knows; less than 0 if some have ended since they were read. */
export const unlisted = new Value(0);
/** Grows when lists must be read again, because changes were missed. */
export const epoch = new Value(0);

const PAGE = 200;
/** Open questions that are read by themselves; the rest is read on demand. */
const QUESTION_PAGES = 5;
/** Questions that ended while changes were missed, and are read one by one. */
const ENDED_READ = 50;
/** Calls and questions that are remembered; those that have not ended always are. */
const [CALLS_KEPT, SUMMARIES_KEPT, QUESTIONS_KEPT] = [5000, 2000, 2000];

/** How often a hidden window updates the number of open questions in its title. */
const COUNT_MS = 30_000;

/** How long a list waits for more changes before it is read again. */
const SOON_MS = 3000;

let stream: EventStream | undefined;
let counting: ReturnType<typeof setInterval> | undefined;
/** The person to whom the data on the page belongs. */
let identity: string | undefined;

/** People who sign in again find everything as they left it. Others, and who may see less than before, do not. */
export const identityOf = ({ principal, operator }: Me): string => JSON.stringify([principal, operator]);

/** How often the page was started; only the last time counts. */
let starts = 0;

export async function start(): Promise<void> {
  starts += 1;
  const attempt = starts;
  whenSignedOut(refused);
  unfollow();
  adoptPageKey();
  try {
    const me = await get<Me>('/api/v1/me');
    if (attempt !== starts) return;
    if (identity !== identityOf(me)) forgetEverything();
    identity = identityOf(me);
    const path = pageToReturnTo(globalThis.location?.hash ?? '');
    if (path !== undefined && (await leaveFor(path))) return;
    phase.set({ name: 'ready', me });
    follow();
  } catch (error) {
    if (attempt !== starts) return;
    if (phase.get().name !== 'signed out') phase.set({ name: 'failed', reason: messageOf(error) });
  }
}

/** Goes on to the page of the gateway for which the person had to sign in. Returns whether it does. */
async function leaveFor(path: string): Promise<boolean> {
  try {
    const { location: address } = await post<{ location: string }>('/console/pass', { path });
    location.replace(address);
    return true;
  } catch (error) {
    note(`The page that you came from cannot be opened: ${messageOf(error)}`, 'problem');
    show('#/inbox');
    return false;
  }
}

/** The person is no longer signed in, or another window has signed in as another person, whom this window follows. */
function refused(): void {
  if (isPageKeyOld()) void start();
  else signedOut('You are no longer signed in: your session has ended, or the gateway has a new key.');
}

/** With a key that the person has typed, or that came with a link, which anybody may have sent. */
export async function signIn(key: string, { fromLink = false } = {}): Promise<void> {
  await post('/console/sign-in', { key, ...(fromLink && { fromLink }) });
  await start();
}

export async function readIssuers(): Promise<IssuerChoice[]> {
  return (await get<{ issuers: IssuerChoice[] }>('/console/sign-in')).issuers;
}

/** Leaves the page for the issuer, and returns to the current page afterwards. */
export async function signInWith({ issuer }: IssuerChoice): Promise<void> {
  const { hash } = location;
  const to = pageToReturnTo(hash) ?? (hash.startsWith('#/') ? `/console${hash}` : '/console');
  const { url } = await post<{ url: string }>('/console/sign-in/begin', { issuer, to });
  location.assign(url);
}

export async function signOut(): Promise<void> {
  let issuer: IssuerToLeave | undefined;
  try {
    issuer = (await post<{ issuer: IssuerToLeave } | undefined>('/console/sign-out', {}))?.issuer;
  } catch (error) {
    // The cookie is still there, and only the gateway can remove it.
    note(`You are still signed in: ${messageOf(error)}`, 'problem');
    return;
  }
  unfollow();
  forgetEverything();
  phase.set({ name: 'signed out', ...(issuer && { issuer }) });
}

function forgetEverything(): void {
  dropRequests();
  notes.set([]);
  for (const collection of [questions, calls, summaries, servers, sessions]) collection.clear();
  forgetDrafts();
  moreQuestions.set(undefined);
  moreSessions.set(undefined);
  unlisted.set(0);
  loaded.set(false);
  problem.set(undefined);
  identity = undefined;
}

/** A browser has six connections to a host for all its windows, so that only windows in sight have a stream. */
function follow(): void {
  unfollow();
  if (phase.get().name !== 'ready') return;
  if (document.visibilityState === 'hidden') {
    counting = setInterval(() => void countOpenQuestions(), COUNT_MS);
    return;
  }
  stream = new EventStream({ onEvent, onState, onOpen, onSignedOut: refused });
  stream.start();
}

function unfollow(): void {
  stream?.close();
  stream = undefined;
  clearInterval(counting);
}

function signedOut(reason: string): void {
  unfollow();
  // The first visit needs no explanation.
  const known = phase.get().name === 'ready';
  phase.set({ name: 'signed out', ...(known && { reason }) });
}

export const retryNow = (): void => stream?.retryNow();

// A computer that wakes up and a page that comes to the front do not wait for the next attempt.
for (const event of ['online', 'focus']) {
  globalThis.addEventListener?.(event, () => retryNow());
}
globalThis.addEventListener?.('visibilitychange', follow);

function onState(now: StreamState): void {
  const before = streamState.get();
  streamState.set(now);
  if (now.state === 'lost' && before.state === 'live') announce('Connection to the gateway lost. Reconnecting.');
  if (now.state === 'live' && before.state === 'lost') announce('Connected to the gateway again.');
}

/** Something was asked for while the gateway could not be reached. */
let isUnread = false;
whenUnreachable(() => {
  isUnread = true;
});

function onOpen(resumed: boolean): void {
  problem.set(undefined);
  void readServers();
  void readSessions();
  // The stream reports later changes, but not data that could not be read.
  if (!resumed || !loaded.get() || isUnread) void reload();
}

/** Everything that could not be read. */
export function readAgain(): void {
  onOpen(false);
}

let arrived = 0;

function onEvent(type: string, item: unknown): void {
  switch (type) {
    case 'question': {
      const question = item as Question;
      const isNew = questions.get(question.id) === undefined;
      if (isNew && question.status === 'open') announceQuestion(question);
      if (isNew && question.status !== 'open' && unlisted.get() > 0) unlisted.set(unlisted.get() - 1);
      questions.put(question);
      forgetOldest(questions, { keep: QUESTIONS_KEPT, endedAt: questionEndedAt });
      break;
    }
    case 'call':
      putCall(item as Call | Summary);
      break;
    case 'server':
      putOrDelete(servers, item as Server & Gone, serverKey(item as Server));
      break;
    case 'session':
      putOrDelete(sessions, item as Session & Gone, (item as Session).id);
      // It may be stored, and wait for its client.
      if ((item as Gone).gone === true && route.get().page === 'sessions') readSessionsSoon();
      break;
    case 'resync':
      void reload();
      break;
    default:
  }
}

/** The one in sight stays. */
function questionEndedAt({ id, status, createdAt, endedAt }: Question): number | undefined {
  return status === 'open' || route.get().id === id ? undefined : (endedAt ?? createdAt);
}

interface Gone {
  gone?: boolean;
}

function putOrDelete<T extends object>(collection: Collection<T>, item: T & Gone, id: string): void {
  if (item.gone === true) collection.delete(id);
  else collection.put(item);
}

export function putCall(item: Call | Summary): void {
  if ('kind' in item && item.kind === 'summary') summaries.put(item);
  else calls.put(item as Call);
  forgetOldest(calls, { keep: CALLS_KEPT, endedAt: (call) => (isRunning(call) ? undefined : call.startedAt) });
  forgetOldest(summaries, { keep: SUMMARIES_KEPT, endedAt: ({ to }) => to });
}

function announceQuestion({ server }: Question): void {
  arrived += 1;
  if (arrived > 1) return;
  setTimeout(() => {
    announce(arrived === 1 ? `New question from ${server}.` : `${plural(arrived, 'new question')}.`);
    arrived = 0;
  }, 800);
}

/** Changes may have been missed: what is known is read again. */
async function reload(): Promise<void> {
  isUnread = false;
  epoch.set(epoch.get() + 1);
  await Promise.all([readOpenQuestions(), readRunningCalls()]);
}

/** For the number of them, which is always in sight. */
async function readRunningCalls(): Promise<void> {
  await quietly(async () => {
    const known = calls.all().filter(isRunning);
    const running = await readRunning();
    calls.putAll(running);
    const found = new Set(running.map(({ id }) => id));
    // Calls that ended while changes were missed are read again where they are shown.
    for (const call of known) if (!found.has(call.id) && calls.get(call.id) === call) calls.delete(call.id);
  });
}

async function readOpenQuestions(): Promise<void> {
  const known = questions.all().filter(({ status }) => status === 'open');
  const found = new Set<string>();
  let cursor: string | undefined;
  let total: number | undefined;
  try {
    for (let page = 0; page < QUESTION_PAGES; page += 1) {
      const read = await readOpenPage(PAGE, cursor);
      for (const { id } of read.items) found.add(id);
      ({ next: cursor, total } = read);
      if (cursor === undefined) break;
    }
    moreQuestions.set(cursor);
    if (cursor === undefined) await readEnded(known.filter(({ id }) => !found.has(id)));
    setOpenCount(cursor === undefined ? undefined : total);
  } catch (error) {
    problem.set(messageOf(error));
    return;
  }
  loaded.set(true);
  problem.set(undefined);
}

/** Questions that are no longer open have ended meanwhile. After a long time there may be many, and only the latest matter. */
async function readEnded(ended: readonly Question[]): Promise<void> {
  const latest = ended.toSorted((a, b) => b.createdAt - a.createdAt);
  for (const { id } of latest.slice(ENDED_READ)) questions.delete(id);
  await Promise.all(latest.slice(0, ENDED_READ).map(fetchQuestion));
}

/** The open questions have been read. */
export const loaded = new Value(false);
/** Why they could not be read. */
export const problem = new Value<string | undefined>(undefined);

export async function readMoreQuestions(): Promise<void> {
  const cursor = moreQuestions.get();
  if (cursor === undefined) return;
  const { next, total } = await readOpenPage(PAGE, cursor);
  moreQuestions.set(next);
  setOpenCount(next === undefined ? undefined : total);
}

async function readOpenPage(limit: number, cursor?: string): Promise<Page<Question>> {
  const page = await get<Page<Question>>('/api/v1/questions', { status: 'open', limit, cursor });
  questions.putAll(page.items);
  return page;
}

/** Open questions among them that the page did not know have been counted already. */
export function putFoundQuestions(items: readonly Question[]): void {
  const discovered = items.filter(({ id, status }) => status === 'open' && questions.get(id) === undefined).length;
  if (unlisted.get() > 0) unlisted.set(Math.max(0, unlisted.get() - discovered));
  questions.putAll(items);
}

async function countOpenQuestions(): Promise<void> {
  await quietly(async () => setOpenCount((await readOpenPage(1)).total));
}

/** `undefined` if the page knows all of them. */
function setOpenCount(total: number | undefined): void {
  unlisted.set(total === undefined ? 0 : total - openQuestions().length);
}

/** Those that the page has not read, too. */
export const openCount = (): number => Math.max(0, openQuestions().length + unlisted.get());

/** Returns whether it could be read. */
export async function fetchQuestion({ id }: { id: string }): Promise<boolean> {
  try {
    questions.put(await get<Question>(`/api/v1/questions/${encodeURIComponent(id)}`));
    return true;
  } catch (error) {
    // If the gateway cannot be reached, what is known may still be true.
    if (error instanceof RequestError && error.status === 404) questions.delete(id);
    return false;
  }
}

export async function readServers(): Promise<void> {
  await quietly(async () => servers.replaceAll((await get<Page<Server>>('/api/v1/servers')).items));
}

export async function readSessions(): Promise<void> {
  await quietly(async () => {
    const { items, next } = await get<Page<Session>>('/api/v1/sessions', { limit: PAGE });
    sessions.replaceAll(items);
    moreSessions.set(next);
  });
}

export async function readMoreSessions(): Promise<void> {
  await quietly(async () => {
    const cursor = moreSessions.get();
    const { items, next } = await get<Page<Session>>('/api/v1/sessions', { state: 'dormant', limit: PAGE, cursor });
    // One that was restored meanwhile is known better.
    sessions.putAll(items.filter(({ id }) => sessions.get(id) === undefined));
    moreSessions.set(next);
  });
}

let readingSoon: ReturnType<typeof setTimeout> | undefined;

/** Many sessions may end at the same time. */
function readSessionsSoon(): void {
  readingSoon ??= setTimeout(() => {
    readingSoon = undefined;
    if (phase.get().name === 'ready') void readSessions();
  }, SOON_MS);
}

/** A list that could not be read is read again after the next connection, which the page shows as lost meanwhile. */
async function quietly(read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    problem.set(messageOf(error));
  }
}

export function openQuestions(): Question[] {
  return questions
    .all()
    .filter(({ status }) => status === 'open')
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

export const isRunning = ({ status }: Call): boolean => status === 'running' || status === 'waiting';
