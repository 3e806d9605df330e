/** An incoming webhook of Slack, or of a program that takes the same messages. */

import { stringifyExact } from '../../lib/exact-json.ts';
import { sendJson } from '../post.ts';
import type { TargetSettings } from '../settings.ts';
import type { Target } from '../target.ts';

/** The limits of Slack. */
const MOST_HEADER_CHARS = 150;
const MOST_TEXT_CHARS = 3000;

export function slack({ url = '' }: TargetSettings): Target {
  const address = new URL(url);
  return {
    send: async ({ title, lines, link, answerLink }, signal) => {
      const buttons = [
        ...(answerLink === undefined ? [] : [button('Answer', answerLink)]),
        ...(link === undefined ? [] : [button('Open the console', link)]),
      ];
      const body = {
        text: escaped(title),
        blocks: [
          { type: 'header', text: plain(title, MOST_HEADER_CHARS) },
          // Plain text, in which a server can neither mention people nor hide a link.
          ...(lines.length === 0 ? [] : [{ type: 'section', text: plain(lines.join('\n'), MOST_TEXT_CHARS) }]),
          ...(buttons.length === 0 ? [] : [{ type: 'actions', elements: buttons }]),
        ],
        unfurl_links: false,
        unfurl_media: false,
      };
      await sendJson(address, stringifyExact(body), signal);
    },
  };
}

function plain(text: string, most: number): Record<string, unknown> {
  return { type: 'plain_text', text: text.slice(0, most), emoji: false };
}

function button(label: string, url: string): Record<string, unknown> {
  return { type: 'button', text: plain(label, MOST_HEADER_CHARS), url };
}

/** The text of the notification is formatted in any case. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
