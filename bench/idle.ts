/** Memory of an idle gateway, beside a Node with an HTTP server. */
import { setTimeout as delay } from 'node:timers/promises';
import { Child, PROGRAM, script } from './child.ts';
import { LoadClient } from './load.ts';

const IDLE_MS = 5000;

export interface Idle {
  rssBytes: number;
  bareRssBytes: number;
  /** After one session was opened, and has made a call. */
  sessionRssBytes: number;
}

/** The wait is used for `meanwhile`. */
export async function measureIdle<T>(config: string, meanwhile: () => Promise<T>): Promise<[Idle, T]> {
  const gateway = new Child([PROGRAM, 'serve', '--config', config]);
  const bare = script('bare-server.ts');
  try {
    const [url] = await Promise.all([gateway.url, bare.url]);
    const [measured] = await Promise.all([meanwhile(), delay(IDLE_MS)]);
    const { rssBytes } = await gateway.usage();
    const { rssBytes: bareRssBytes } = await bare.usage();
    return [{ rssBytes, bareRssBytes, sessionRssBytes: await withOneSession(gateway, url) }, measured];
  } finally {
    await Promise.all([gateway.stop(), bare.stop()]);
  }
}

async function withOneSession(gateway: Child, url: string): Promise<number> {
  const client = new LoadClient({ url, era: 'legacy', server: 'legacy' });
  await client.open();
  await client.call();
  await delay(1000);
  client.close();
  return (await gateway.usage()).rssBytes;
}
