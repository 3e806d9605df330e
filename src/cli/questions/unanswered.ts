/** Messages for scripts about an unanswered question, with the `--answer` to give. */

import type { PendingElicitation, PendingSample } from '../../client/types.ts';
import { describeSample } from '../terminal/ask-sample.ts';
import { cleanLine } from '../../lib/clean.ts';
import { captionOf, fieldsOf, type Field } from '../../lib/form/fields.ts';

export function sampleUnanswered(
  { params }: Pick<PendingSample, 'params'>,
  why: string = 'refused (no interactive terminal)',
): string {
  return `${describeSample(params)}\n${why}; give the answer with --answer '{"text":"…"}'`;
}

export function elicitationUnanswered(
  { mode, url, requestedSchema = {} }: Pick<PendingElicitation, 'mode' | 'url' | 'requestedSchema'>,
  why: string = 'answered "cancel" (no interactive terminal)',
): string {
  if (mode === 'url')
    return `${cleanLine(url ?? '')}\n${why}; when you have opened the page, confirm with --answer '{"action":"accept"}'`;
  const fields = fieldsOf(requestedSchema);
  const lines = fields.map((field) => `  ${cleanLine(field.name)}: ${captionOf(field)}`);
  const example = JSON.stringify(
    Object.fromEntries(fields.filter(isAsked).map((field) => [field.name, exampleOf(field)])),
  );
  return [...lines, `${why}; give the answer with --answer '${example}'`].join('\n');
}

/** An example has all required fields, or else all fields. */
function isAsked(field: Field, _index: number, all: readonly Field[]): boolean {
  return field.required || !all.some(({ required }) => required);
}

function exampleOf(field: Field): unknown {
  switch (field.kind) {
    case 'yes or no':
      return field.initial ?? true;
    case 'one of':
      return field.initial ?? field.choices[0]?.value;
    case 'several of':
      return field.initial.length > 0 ? field.initial : field.choices.slice(0, 1).map(({ value }) => value);
    case 'text':
      return field.schema['type'] === 'integer' || field.schema['type'] === 'number' ? 0 : '…';
  }
}
