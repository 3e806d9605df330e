import type { ElicitResult, PendingElicitation } from '../../client/types.ts';
import { mistakeIn, readEntry } from '../../lib/form/entry.ts';
import { captionOf, fieldsOf, type Field, type TextField } from '../../lib/form/fields.ts';
import { laterOption, type OnEscape, type Option, type Prompter, type PromptResult } from './prompter.ts';

/** `undefined`: the field was left empty. */
type Value = { value: unknown } | undefined;

/** An answer that was not taken, and why, by field. */
export interface RefusedForm {
  content: Record<string, unknown>;
  mistakes: Record<string, string>;
}

/** Asks whether to answer, then for each field. Esc in a field goes back to the first question. */
export async function askForm(
  prompter: Prompter,
  { requestedSchema = {} }: Pick<PendingElicitation, 'requestedSchema'>,
  over: AbortSignal,
  { onEscape = 'refuse', refused }: { onEscape?: OnEscape; refused?: RefusedForm | undefined } = {},
): Promise<PromptResult<ElicitResult>> {
  const fields = fieldsOf(requestedSchema);
  const given = new Map<string, Value>();
  const corrected = refused && (await correct(prompter, fields, given, refused, over));
  if (corrected !== undefined && corrected.kind !== 'escaped') return corrected;
  for (;;) {
    const choice = await prompter.choose<ElicitResult['action'] | 'later'>(over, 'What do you say?', [
      { value: 'accept', label: fields.length === 0 ? 'Agree' : 'Answer', hint: fieldCount(fields.length) },
      { value: 'decline', label: 'Decline', hint: 'refuse to answer' },
      { value: 'cancel', label: 'Cancel', hint: `dismiss the question${onEscape === 'refuse' ? '; also Esc' : ''}` },
      ...laterOption(onEscape),
    ]);
    if (choice.kind === 'escaped' && onEscape === 'refuse') return { kind: 'answered', value: { action: 'cancel' } };
    if (choice.kind !== 'answered') return choice;
    if (choice.value === 'later') return { kind: 'escaped' };
    if (choice.value !== 'accept') return { kind: 'answered', value: { action: choice.value } };
    const filled = await fillIn(prompter, fields, given, over);
    if (filled.kind !== 'escaped') return filled;
  }
}

/** Asks again for the fields with mistakes. All fields are asked for if none of them is in the form. */
async function correct(
  prompter: Prompter,
  fields: readonly Field[],
  given: Map<string, Value>,
  { content, mistakes }: RefusedForm,
  over: AbortSignal,
): Promise<PromptResult<ElicitResult>> {
  for (const { name } of fields) if (Object.hasOwn(content, name)) given.set(name, { value: content[name] });
  const wrong = fields.filter(({ name }) => Object.hasOwn(mistakes, name));
  for (const { title, name } of wrong) await prompter.say(`${title}: ${mistakes[name]}`, 'warn');
  return wrong.length === 0 ? { kind: 'escaped' } : fillIn(prompter, wrong, given, over);
}

function fieldCount(count: number): string {
  if (count === 0) return 'no fields';
  return count === 1 ? 'one field' : `${count} fields`;
}

/** Earlier entries are the initial values. */
async function fillIn(
  prompter: Prompter,
  fields: readonly Field[],
  given: Map<string, Value>,
  over: AbortSignal,
): Promise<PromptResult<ElicitResult>> {
  for (const field of fields) {
    const asked = await askField(prompter, field, given.get(field.name), over);
    if (asked.kind !== 'answered') return asked;
    given.set(field.name, asked.value);
  }
  const content = [...given].flatMap(([name, entry]) => (entry === undefined ? [] : [[name, entry.value] as const]));
  return { kind: 'answered', value: { action: 'accept', content: Object.fromEntries(content) } };
}

async function askField(
  prompter: Prompter,
  field: Field,
  before: Value,
  over: AbortSignal,
): Promise<PromptResult<Value>> {
  const message = captionOf(field);
  switch (field.kind) {
    case 'text':
      return askText(prompter, field, message, before, over);
    case 'yes or no': {
      const options = [
        { value: true, label: 'Yes' },
        { value: false, label: 'No' },
      ];
      // Pressing Enter must not mean consent.
      const initial = field.initial ?? (field.required ? false : undefined);
      return askChoice(prompter, message, options, field.required, before?.value ?? initial, over);
    }
    case 'one of':
      return askChoice(prompter, message, field.choices, field.required, before?.value ?? field.initial, over);
    case 'several of': {
      let chosen = Array.isArray(before?.value) ? (before.value as unknown[]) : field.initial;
      for (;;) {
        const asked = await prompter.chooseSeveral(over, message, field.choices, chosen);
        if (asked.kind !== 'answered') return asked;
        if (asked.value.length === 0 && !field.required) return { kind: 'answered', value: undefined };
        const mistake = mistakeIn(field, asked.value);
        if (mistake === undefined) return { kind: 'answered', value: { value: asked.value } };
        await prompter.say(mistake, 'warn');
        chosen = asked.value;
      }
    }
  }
}

async function askText(
  prompter: Prompter,
  field: TextField,
  message: string,
  before: Value,
  over: AbortSignal,
): Promise<PromptResult<Value>> {
  const initial = before === undefined ? field.initial : textOf(before.value);
  const asked = await prompter.text(over, {
    message,
    initial,
    ...(field.placeholder !== undefined && { placeholder: field.placeholder }),
    validate: (text) => {
      const entry = readEntry(field, text);
      return entry.kind === 'mistake' ? entry.mistake : undefined;
    },
  });
  if (asked.kind !== 'answered') return asked;
  const entry = readEntry(field, asked.value ?? '');
  return { kind: 'answered', value: entry.kind === 'value' ? { value: entry.value } : undefined };
}

async function askChoice(
  prompter: Prompter,
  message: string,
  choices: readonly Option<unknown>[],
  required: boolean,
  initial: unknown,
  over: AbortSignal,
): Promise<PromptResult<Value>> {
  const options: Option<Value>[] = choices.map(({ value, label }) => ({ value: { value }, label }));
  const chosen = options.find((option) => option.value?.value === initial);
  // An optional field is empty unless the server has a default for it.
  const empty: Option<Value>[] = required ? [] : [{ value: undefined, label: '(leave empty)' }];
  const all = initial === undefined ? [...empty, ...options] : [...options, ...empty];
  return prompter.choose(over, message, all, chosen?.value);
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
