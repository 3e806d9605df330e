/** A topic of ntfy. */

import { stringifyExact } from '../../lib/exact-json.ts';
import { sendJson } from '../post.ts';
import type { TargetSettings } from '../settings.ts';
import type { Target } from '../target.ts';

const USUAL = 3;
const HIGH = 4;

export function ntfy({ url = '', token, priority }: TargetSettings): Target {
  const { topic, server } = topicIn(url);
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    send: async ({ title, lines, link, answerLink, urgent }, signal) => {
      const actions = [
        ...(answerLink === undefined ? [] : [{ action: 'view', label: 'Answer', url: answerLink }]),
        ...(link === undefined ? [] : [{ action: 'view', label: 'Open the console', url: link }]),
      ];
      const click = answerLink ?? link;
      const body = {
        topic,
        title,
        message: lines.join('\n') || title,
        priority: priority ?? (urgent ? HIGH : USUAL),
        ...(click !== undefined && { click }),
        ...(actions.length > 0 && { actions }),
      };
      await sendJson(server, stringifyExact(body), signal, { headers });
    },
  };
}

/** JSON is published at the address of the server, and names the topic: the last part of the configured address. */
function topicIn(text: string): { topic: string; server: URL } {
  const url = new URL(text);
  const parts = url.pathname.split('/').filter(Boolean);
  const topic = decodeURIComponent(parts.at(-1) ?? '');
  return { topic, server: new URL(`/${parts.slice(0, -1).join('/')}`, url) };
}
