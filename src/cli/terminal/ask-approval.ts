/** Asks the person at the terminal whether a call may be made. */

import type { ElicitResult } from '../../client/types.ts';
import { fieldsOf } from '../../lib/form/fields.ts';
import { cleanLine } from '../../lib/clean.ts';
import { laterOption, type Option, type Prompter, type PromptResult } from './prompter.ts';

/** Esc leaves the question to others. */
export async function askApproval(
  prompter: Prompter,
  { requestedSchema }: { requestedSchema: Record<string, unknown> },
  over: AbortSignal,
): Promise<PromptResult<ElicitResult>> {
  const options: Option<string>[] = [
    ...choicesIn(requestedSchema).map(({ value, label }) => ({ value: String(value), label: cleanLine(label) })),
    ...laterOption('leave'),
  ];
  // Pressing Enter must not mean consent.
  const chosen = await prompter.choose(over, 'Your decision', options, 'deny');
  if (chosen.kind !== 'answered') return chosen;
  if (chosen.value === 'later') return { kind: 'escaped' };
  return { kind: 'answered', value: { action: 'accept', content: { decision: chosen.value } } };
}

function choicesIn(schema: Record<string, unknown>): { value: unknown; label: string }[] {
  const decision = fieldsOf(schema).find(({ name }) => name === 'decision');
  return decision?.kind === 'one of' ? [...decision.choices] : [];
}
