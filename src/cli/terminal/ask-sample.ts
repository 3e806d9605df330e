import type { PendingSample } from '../../client/types.ts';
import { modelAnswer, type SampleAnswer } from '../questions/prepared.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { laterOption, type OnEscape, type Prompter, type PromptResult } from './prompter.ts';
import { isObject } from '../../lib/values.ts';

const REJECTED: SampleAnswer = { action: 'reject', reason: 'the user rejected the request' };

/** Shows a sampling request; the person answers in place of the model, or rejects it. */
export async function askSample(
  prompter: Prompter,
  sample: Pick<PendingSample, 'params'>,
  over: AbortSignal,
  { onEscape = 'refuse' }: { onEscape?: OnEscape } = {},
): Promise<PromptResult<SampleAnswer>> {
  await prompter.say(describeSample(sample.params));
  for (;;) {
    const choice = await prompter.choose<'answer' | 'reject' | 'later'>(over, 'What do you say?', [
      { value: 'answer', label: 'Write the response yourself' },
      { value: 'reject', label: 'Reject', ...(onEscape === 'refuse' && { hint: 'also Esc' }) },
      ...laterOption(onEscape),
    ]);
    if (choice.kind === 'escaped' && onEscape === 'refuse') return { kind: 'answered', value: REJECTED };
    if (choice.kind !== 'answered') return choice;
    if (choice.value === 'later') return { kind: 'escaped' };
    if (choice.value === 'reject') return { kind: 'answered', value: REJECTED };
    const written = await prompter.lines(over, 'The answer (two line breaks end it)');
    if (written.kind === 'answered') {
      return { kind: 'answered', value: { action: 'answer', result: modelAnswer(written.value.trimEnd()) } };
    }
    if (written.kind !== 'escaped') return written;
  }
}

const LONGEST_SHOWN = 4000;

/** Everything that a person needs to decide about the request. */
export function describeSample(params: Record<string, unknown>): string {
  const { systemPrompt, messages, maxTokens, temperature, modelPreferences, tools, includeContext } = params;
  const facts = [
    typeof maxTokens === 'number' ? `at most ${maxTokens} tokens` : '',
    typeof temperature === 'number' ? `temperature ${temperature}` : '',
    modelHints(modelPreferences),
    Array.isArray(tools) ? `tools: ${tools.map((tool: unknown) => nameOf(tool)).join(', ')}` : '',
    typeof includeContext === 'string' && includeContext !== 'none' ? `with context: ${includeContext}` : '',
  ].filter(Boolean);
  return [
    ...(typeof systemPrompt === 'string' ? [`system: ${shorten(systemPrompt)}`] : []),
    ...(Array.isArray(messages) ? messages.map(describeMessage) : []),
    ...(facts.length === 0 ? [] : [`(${cleanLine(facts.join('; '))})`]),
  ].join('\n');
}

function modelHints(preferences: unknown): string {
  const hints = isObject(preferences) && Array.isArray(preferences['hints']) ? preferences['hints'] : [];
  const names = hints.map(nameOf).filter(Boolean);
  return names.length === 0 ? '' : `model: ${names.join(', ')}`;
}

const nameOf = (thing: unknown): string => (isObject(thing) && typeof thing['name'] === 'string' ? thing['name'] : '');

function describeMessage(message: unknown): string {
  if (!isObject(message)) return shorten(JSON.stringify(message));
  const { role, content } = message;
  const blocks = Array.isArray(content) ? content : [content];
  return `${cleanLine(role)}: ${blocks.map(describeBlock).join(' ')}`;
}

function describeBlock(block: unknown): string {
  if (!isObject(block)) return shorten(JSON.stringify(block) ?? '');
  if (typeof block['text'] === 'string') return shorten(block['text']);
  const { data: _data, ...rest } = block;
  return shorten(JSON.stringify(rest));
}

function shorten(text: string): string {
  const cleaned = clean(text);
  const rest = cleaned.length - LONGEST_SHOWN;
  return rest > 0 ? `${cleaned.slice(0, LONGEST_SHOWN)}… (${rest} more characters)` : cleaned;
}
