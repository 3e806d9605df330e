/** Web pages that a server wants visited before it accepts a call (error -32042). */

import { TaskClientError } from '../../client/task-client-error.ts';
import { Failure } from '../failure.ts';
import { askLink } from '../terminal/ask-link.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { Prompter } from '../terminal/prompter.ts';
import { URL_ELICITATION_REQUIRED } from '../../lib/rpc-error.ts';
import type { ServerSession } from '../server/session.ts';
import { isObject } from '../../lib/values.ts';

export interface RequiredLink {
  message: string;
  url: string;
}

export function requiredLinks(error: unknown): RequiredLink[] {
  if (!(error instanceof TaskClientError) || error.code !== URL_ELICITATION_REQUIRED) return [];
  const listed = isObject(error.data) ? error.data['elicitations'] : undefined;
  return (Array.isArray(listed) ? listed : []).flatMap((each: unknown) =>
    isObject(each) && typeof each['url'] === 'string' ? [{ message: clean(each['message']), url: each['url'] }] : [],
  );
}

/** The failure when there is no person to visit the pages. */
export function linksUnvisited({ label }: Pick<ServerSession, 'label'>, links: readonly RequiredLink[]): Failure {
  const pages = links.map(({ message, url }) => `${label} wants you to visit ${cleanLine(url)}: ${clean(message)}`);
  return new Failure('unanswered', [...pages, 'then repeat the call, or make it from a terminal'].join('\n'), {
    urls: links.map(({ url }) => url),
  });
}

/** Resolves with whether the person visited all of them. */
export async function visitLinks({ label, stop }: ServerSession, links: readonly RequiredLink[]): Promise<boolean> {
  const prompter = new Prompter();
  for (const link of links) {
    await prompter.say(`${label} asks: ${clean(link.message)}`, 'info');
    const asked = await askLink(prompter, link, stop.signal);
    if (asked.kind !== 'answered' || asked.value.action !== 'accept') return false;
  }
  await prompter.end('Calling the tool again.');
  return true;
}
