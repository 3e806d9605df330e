/** Requests that run beside each other: what the server says in the course of one comes on the stream of that one. */
import { describe, expect, it } from 'vitest';
import { LEVELS, META, type Era, type Json } from '../../../servers/rich/wire.ts';
import { owned } from '../../../support/owned.ts';
import { serverAlone, throughGateway } from './places.ts';
import { connect, type Said, type WireClient } from './wire-client.ts';

const ERAS: Era[] = ['legacy', 'modern'];

/** Each wants to hear something else. */
const WANTED = [undefined, 'debug', 'emergency', 'info', undefined, 'warning'];

/** What the tool says at each level, in this order. */
const SAID = ['debug', 'info', 'warning', 'emergency'];

function callOf(client: WireClient, who: number, level: string | undefined): Promise<Json> {
  const _meta = { progressToken: `token ${who}`, ...(level !== undefined && { [META.logLevel]: level }) };
  const params = { name: 'together', arguments: { who, count: WANTED.length }, _meta };
  return client.request(`call ${who}`, 'tools/call', params);
}

/** In a few words. */
function told({ message: { method, params } }: Said): string {
  const { progressToken, progress, level, about } = params as Json;
  switch (method) {
    case 'notifications/progress':
      return `${String(progressToken)}: ${String(progress)}`;
    case 'notifications/message':
      return String(level);
    default:
      return String(about);
  }
}

function toBeTold(who: number, level: string | undefined): string[] {
  const progress = [0, 0.5, 3].map((step) => `token ${who}: ${step}`);
  const logs = SAID.filter((at) => level !== undefined && LEVELS.indexOf(at) >= LEVELS.indexOf(level));
  return [...progress, ...logs, 'the call'].toSorted();
}

describe.each(ERAS)('a %s server', (serverEra) => {
  it.each(ERAS)('D-5: a %s client gets the progress and logs of each request on its own stream', async (era) => {
    const { url } = (await throughGateway(await serverAlone(serverEra, 'HTTP'), 'HTTP')) as { url: string };
    const client = owned(await connect(era, { url }));
    await client.hello();
    // A level of the session; those of requests mean nothing in the old era.
    if (era === 'legacy') await client.request('level', 'logging/setLevel', { level: 'info' });
    const calls = WANTED.map((level, who) => callOf(client, who, level));
    const replies = await Promise.all(calls);
    for (const [who, level] of WANTED.entries()) {
      expect(replies[who]).toMatchObject({ result: { content: [{ text: String(who) }] } });
      const heard = client.said.filter(({ on }) => on === `call ${who}`).map(told);
      expect(heard.toSorted(), `call ${who}`).toEqual(toBeTold(who, era === 'legacy' ? 'info' : level));
    }
    expect(client.said.filter(({ on }) => on === undefined)).toEqual([]);
  });
});
