/** One stream reports all changes to a page. */

import type { ServerResponse } from 'node:http';
import type { Gateway } from '../../../core/gateway.ts';
import { stringifyExact } from '../../../lib/exact-json.ts';
import { messageOf } from '../../../lib/log.ts';
import { sleep } from '../../../lib/timers.ts';
import { keepAlive, STREAM_HEADERS, writeEvent } from '../../http/response.ts';
import { ApiError } from '../api-error.ts';
import { accessOf, type Person } from '../person.ts';
import { SECURITY_HEADERS } from '../respond.ts';
import { eventItem } from './items.ts';
import { defineRoute, type RouteCall } from './route.ts';
import { eventsQuery } from './schemas.ts';

/** How many streams a person may have open; a browser has one for each window. */
const MAX_STREAMS = 100;
/** A client that has missed more changes reads the lists again, which is cheaper. */
const MAX_MISSED = 5000;
/** How many changes are read at once. */
const BATCH = 200;
/** After this many changes that do not concern a client, it gets the number to continue from. */
const SKIPPED = 500;
/** How soon to read again after the history could not be read. */
const RETRY_MS = 1000;

export const eventRoutes = [
  defineRoute({
    method: 'GET',
    path: '/events',
    summary: 'Streams changes as Server-Sent Events: hello, call, question, server, session, seq, resync',
    query: eventsQuery,
    replies: { 200: { description: 'A stream that does not end', type: 'text/event-stream' } },
    run: async (call) => {
      await stream(call);
      return undefined;
    },
  }),
];

async function stream({
  gateway,
  live,
  person,
  expires,
  query,
  req,
  res,
}: RouteCall<{ after?: number | undefined }, unknown>): Promise<void> {
  if (live.watching(person) >= MAX_STREAMS) {
    throw new ApiError(429, 'limit', `you have ${MAX_STREAMS} event streams open; close some`);
  }
  // Counted from now until the client leaves.
  let isOpen = false;
  const stop = live.watch(person, ({ event, item }) => {
    if (isOpen) send(res, event, item);
  });
  res.once('close', stop);
  const { history } = gateway.store;
  const { newest, completeFrom } = await history.range().catch((error: unknown) => {
    stop();
    throw error;
  });
  if (isGone(res)) {
    stop();
    return;
  }
  const after = resumeAfter(req.headers['last-event-id']) ?? query.after;
  const reaches = after !== undefined && after >= completeFrom && after <= newest && newest - after <= MAX_MISSED;
  const isComplete = after === undefined || reaches;
  const begin = reaches ? after : newest;
  res.writeHead(200, { ...STREAM_HEADERS, ...SECURITY_HEADERS });
  if (req.method === 'HEAD') {
    res.end();
    return;
  }
  keepAlive(res);
  send(res, 'hello', { seq: begin, gateway: gateway.store.cluster?.gatewayId }, begin);
  if (!isComplete) send(res, 'resync', { seq: begin }, begin);
  isOpen = true;
  if (expires !== undefined) {
    const { clock } = gateway;
    res.once(
      'close',
      clock.after(expires - clock.now(), () => res.end(), { unref: true }),
    );
  }
  await follow(gateway, person, res, begin);
}

function resumeAfter(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && /^\d{1,15}$/.test(header)) return Number(header);
  throw new ApiError(400, 'invalid_parameter', "'Last-Event-ID' is not an id of this stream; omit it");
}

/** Sends all changes after this one until the client leaves. */
async function follow(gateway: Gateway, person: Person, res: ServerResponse, begin: number): Promise<void> {
  const { clock, log } = gateway;
  const { history } = gateway.store;
  const { principal, operator } = person;
  const mayKnow = accessOf(gateway, person);
  let seq = begin;
  let told = begin;
  let wake = (): void => {};
  let news = true;
  const wakeUp = (): void => {
    news = true;
    wake();
  };
  const stop = history.watch(wakeUp);
  res.once('close', wakeUp);
  while (!isGone(res)) {
    if (!news) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      continue;
    }
    news = false;
    try {
      // Read first: later changes are sent next time.
      const { newest } = operator ? { newest: 0 } : await history.range();
      const entries = await history.changesAfter(seq, BATCH, operator ? undefined : principal);
      for (const entry of entries) {
        seq = entry.seq;
        if (!mayKnow(entry)) continue;
        const { event, item } = eventItem(entry);
        send(res, event, item, seq);
        told = seq;
      }
      if (entries.length === BATCH) news = true;
      // Do not read the changes of others again each time.
      else seq = Math.max(seq, newest);
      if (seq - told >= SKIPPED) {
        send(res, 'seq', { seq }, seq);
        told = seq;
      }
      // A slow client gets the rest once it has read this.
      if (res.writableNeedDrain && !res.destroyed) await drained(res);
    } catch (error) {
      log.warn('console_stream_waits', { error: messageOf(error) });
      news = true;
      await sleep(RETRY_MS, clock);
    }
  }
  stop();
}

function isGone(res: ServerResponse): boolean {
  return res.closed || res.destroyed;
}

async function drained(res: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.once('drain', done);
    res.once('close', done);
  });
}

function send(res: ServerResponse, event: string, item: object, id?: number): void {
  writeEvent(res, `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${stringifyExact(item)}\n\n`);
}
