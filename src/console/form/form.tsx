/** A form for a schema, with its content as JSON for what the form cannot express. */

import type { ComponentChildren, JSX } from 'preact';
import { useId, useMemo, useRef, useState } from 'preact/hooks';
import { formMistakes } from '../../lib/form/check.ts';
import { fieldsOf } from '../../lib/form/fields.ts';
import type { JsonSchema } from '../../lib/form/json-schema.ts';
import { plainText, stringifyExact } from '../../lib/exact-json.ts';
import { draftOf, emptyDraft, readDraft, readRaw, type Draft, type Entered } from './draft.ts';
import { FieldInput } from './fields.tsx';
import { formDrafts } from '../state/drafts.ts';
import { sentence } from '../sentence.ts';

export interface SchemaFormProps {
  schema: JsonSchema;
  /** Drafts are kept under this name, so that nothing is lost when the person looks at something else. */
  draftKey: string;
  /** Why the form may not be enough; then it begins with JSON. */
  limits?: string | undefined;
  onSubmit: (content: Record<string, unknown>) => Promise<Record<string, string> | undefined>;
  /** Buttons, with the one that submits. */
  children: (busy: boolean) => ComponentChildren;
}

export function SchemaForm({ schema, draftKey, limits, onSubmit, children }: SchemaFormProps): JSX.Element {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const [draft, setDraftState] = useState<Draft>(
    () => formDrafts.get(draftKey) ?? { ...emptyDraft(fields), ...(limits !== undefined && { raw: '{}' }) },
  );
  const [mistakes, setMistakes] = useState<Record<string, string>>({});
  const [rawMistake, setRawMistake] = useState<string>();
  const [busy, setBusy] = useState(false);

  const setDraft = (next: Draft): void => {
    formDrafts.set(draftKey, next);
    setDraftState(next);
  };
  const enter = (name: string, value: Entered): void => {
    const next = { ...draft, entered: new Map(draft.entered).set(name, value) };
    setDraft(next);
    // A mistake that was shown is checked again at once, so that it goes away when it is corrected.
    if (Object.hasOwn(mistakes, name)) {
      const { [name]: _old, ...rest } = mistakes;
      const now = readDraft(fields, next).mistakes;
      setMistakes(Object.hasOwn(now, name) ? { ...rest, [name]: now[name] ?? '' } : rest);
    }
  };

  const show = (found: Record<string, string>): void => {
    setMistakes(found);
    // The first wrong field gets the focus.
    const first = fields.findIndex(({ name }) => Object.hasOwn(found, name));
    if (first >= 0) requestAnimationFrame(() => document.getElementById(`${id}-${first}`)?.focus());
  };

  const submit = async (): Promise<void> => {
    if (busy) return;
    const content = draft.raw === undefined ? fromFields() : fromJson(draft.raw);
    if (content === undefined) return;
    setBusy(true);
    const refused = await onSubmit(content);
    setBusy(false);
    if (refused === undefined) return;
    if (draft.raw === undefined) show(refused);
    else
      setRawMistake(
        Object.entries(refused)
          .map(([name, mistake]) => `${name}: ${mistake}`)
          .join('; '),
      );
  };
  const fromFields = (): Record<string, unknown> | undefined => {
    const read = readDraft(fields, draft);
    show(read.mistakes);
    return Object.keys(read.mistakes).length === 0 ? read.content : undefined;
  };
  const fromJson = (raw: string): Record<string, unknown> | undefined => {
    const read = readRaw(raw);
    const found =
      'mistake' in read
        ? [read.mistake]
        : formMistakes(schema, read.content).map(({ field, mistake }) => `${field}: ${mistake}`);
    setRawMistake(found.length === 0 ? undefined : found.join('; '));
    return 'content' in read && found.length === 0 ? read.content : undefined;
  };

  const toJson = (): void => {
    setDraft({ ...draft, raw: plainText(stringifyExact(readDraft(fields, draft).content, 2)) });
    setRawMistake(undefined);
  };
  const toForm = (): void => {
    const read = readRaw(draft.raw ?? '');
    if ('mistake' in read) setRawMistake(read.mistake);
    else setDraft(draftOf(fields, read.content));
  };

  return (
    <form
      ref={form}
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey)) return;
        event.preventDefault();
        void submit();
      }}
    >
      {draft.raw === undefined ? (
        fields.map((field, index) => (
          <FieldInput
            key={field.name}
            field={field}
            id={`${id}-${index}`}
            value={draft.entered.get(field.name)}
            mistake={Object.hasOwn(mistakes, field.name) ? mistakes[field.name] : undefined}
            onEnter={(value) => enter(field.name, value)}
          />
        ))
      ) : (
        <div class={`field ${rawMistake === undefined ? '' : 'wrong'}`}>
          <label for={`${id}-raw`}>Content as JSON</label>
          <textarea
            id={`${id}-raw`}
            class="code"
            rows={8}
            spellcheck={false}
            value={draft.raw}
            aria-invalid={rawMistake !== undefined}
            aria-describedby={`${id}-raw-help${rawMistake === undefined ? '' : ` ${id}-raw-mistake`}`}
            onInput={({ currentTarget }) => setDraft({ ...draft, raw: currentTarget.value })}
          />
          <p class="help" id={`${id}-raw-help`}>
            {limits ?? 'The same checks apply as in the form.'}
          </p>
          {rawMistake !== undefined && (
            <p class="mistake" id={`${id}-raw-mistake`}>
              {sentence(rawMistake)}
            </p>
          )}
        </div>
      )}
      <div class="actions">
        {children(busy)}
        {(fields.length > 0 || draft.raw !== undefined) && (
          <button type="button" class="quiet end" onClick={draft.raw === undefined ? toJson : toForm}>
            {draft.raw === undefined ? 'Edit as JSON' : 'Use the form'}
          </button>
        )}
      </div>
    </form>
  );
}
