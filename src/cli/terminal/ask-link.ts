import type { ElicitResult, PendingElicitation } from '../../client/types.ts';
import { cleanLine } from '../../lib/clean.ts';
import { openLink } from './open-link.ts';
import { laterOption, type OnEscape, type Option, type Prompter, type PromptResult } from './prompter.ts';

type Step = 'open' | 'self' | 'later' | ElicitResult['action'];

/** Asks the person to visit a web page. The URL is shown in full and opened only on request. */
export async function askLink(
  prompter: Prompter,
  { url = '' }: Pick<PendingElicitation, 'url'>,
  over: AbortSignal,
  { onEscape = 'refuse' }: { onEscape?: OnEscape } = {},
): Promise<PromptResult<ElicitResult>> {
  const escaped: PromptResult<ElicitResult> =
    onEscape === 'leave' ? { kind: 'escaped' } : { kind: 'answered', value: { action: 'cancel' } };
  const link = webLink(url);
  await prompter.say(
    link === undefined ? `The link is ${cleanLine(url)}` : `${link.href}\nThis page is at ${link.host}`,
  );
  if (link === undefined) await prompter.say('This is not a web page, so it cannot be opened from here.', 'warn');
  const open: Option<Step>[] = link === undefined ? [] : [{ value: 'open', label: 'Open it in the browser' }];
  const first = await prompter.choose<Step>(over, 'Open this page?', [
    ...open,
    { value: 'self', label: 'I will open it myself' },
    { value: 'decline', label: 'Decline', hint: 'refuse to open it' },
    { value: 'cancel', label: 'Cancel', hint: `dismiss the question${onEscape === 'refuse' ? '; also Esc' : ''}` },
    ...laterOption(onEscape),
  ]);
  if (first.kind === 'escaped') return escaped;
  if (first.kind !== 'answered') return first;
  if (first.value === 'later') return { kind: 'escaped' };
  if (first.value !== 'open' && first.value !== 'self') {
    return { kind: 'answered', value: { action: first.value === 'decline' ? 'decline' : 'cancel' } };
  }
  if (first.value === 'open' && link !== undefined) {
    const trouble = await openLink(link.href);
    if (trouble !== undefined)
      await prompter.say(`The browser could not be opened (${trouble}): open the page yourself.`, 'warn');
  }
  const done = await prompter.choose<ElicitResult['action']>(over, 'When you are done there:', [
    { value: 'accept', label: 'Done' },
    { value: 'decline', label: 'Decline' },
  ]);
  if (done.kind === 'escaped') return escaped;
  return done.kind === 'answered' ? { kind: 'answered', value: { action: done.value } } : done;
}

function webLink(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url : undefined;
}
