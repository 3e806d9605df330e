import { setTimeout as delay } from 'node:timers/promises';
import { asCall, LoadClient } from '../load.ts';
import { SLOW_MS } from './play.ts';

/** A client that starts a call and is gone without a word, as most clients are in the end. */
export async function leave(url: string, tag: string): Promise<void> {
  const client = new LoadClient({ url, era: 'legacy' });
  await client.open();
  const call = asCall(1, { name: 'slow', arguments: { ms: SLOW_MS, text: `left ${tag}` } }, 'legacy');
  // It is this end that breaks it.
  const broken = client.post(call).then(
    () => false,
    () => true,
  );
  await delay(SLOW_MS / 2);
  client.close();
  if (!(await broken)) throw new Error('the call of a client that left was answered before it had left');
}
