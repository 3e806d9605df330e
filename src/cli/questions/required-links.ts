/** Web pages that a server wants visited before it accepts a call at all (error -32042). */

import { TaskClientError } from '../../client/error.ts';

import { askLink } from '../terminal/ask-link.ts';
import { clean, cleanLine } from '../terminal/clean.ts';
import { Prompter } from '../terminal/prompter.ts';
import type { Visit } from '../visit.ts';
import { isObject } from '../../lib/values.ts';

const LINKS_REQUIRED = -32042;

export interface RequiredLink {
  message: string;
  url: string;
}

export function requiredLinks(error: unknown): RequiredLink[] {
  if (!(error instanceof TaskClientError) || error.code !== LINKS_REQUIRED) return [];
  const listed = isObject(error.data) ? error.data['elicitations'] : undefined;
  return (Array.isArray(listed) ? listed : []).flatMap((each: unknown) =>
    isObject(each) && typeof each['url'] === 'string' ? [{ message: clean(each['message']), url: each['url'] }] : [],
  );
}

/** Tells whether the person has been to all of them, so that the call is worth another try. */
export async function visitLinks({ screen, label, stop }: Visit, links: readonly RequiredLink[]): Promise<boolean> {
  if (!screen.attended) {
    for (const { message, url } of links)
      screen.note(`${label} wants you to visit ${cleanLine(url)}: ${clean(message)}`);
    return false;
  }
  const prompter = new Prompter();
  for (const link of links) {
    await prompter.say(`${label} asks: ${clean(link.message)}`, 'info');
    const asked = await askLink(prompter, link, stop.signal);
    if (asked.kind !== 'said' || asked.value.action !== 'accept') return false;
  }
  await prompter.end('Calling again.');
  return true;
}
