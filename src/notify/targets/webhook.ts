/** A webhook for programs, signed as in https://www.standardwebhooks.com. */

import { createHmac } from 'node:crypto';
import { isoTime } from '../../lib/clock.ts';
import { stringifyExact } from '../../lib/exact-json.ts';
import type { NotifyMessage } from '../message.ts';
import { sendJson, type PostOptions } from '../post.ts';
import type { TargetSettings } from '../settings.ts';
import type { Target } from '../target.ts';

export function webhook(
  { url = '', secret = '', headers }: Pick<TargetSettings, 'url' | 'secret' | 'headers'>,
  now: () => number,
  options: Pick<PostOptions, 'lookup'> = {},
): Target {
  const address = new URL(url);
  const key = keyFrom(secret);
  return {
    send: async ({ id, type, at, data }: NotifyMessage, signal) => {
      const body = stringifyExact({ type, timestamp: isoTime(at), data });
      const timestamp = String(Math.floor(now() / 1000));
      const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
      await sendJson(address, body, signal, {
        ...options,
        headers: {
          ...headers,
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
      });
    },
  };
}

/** `whsec_` and the key as base64, or any text. */
function keyFrom(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);
}
