/** One native input for each field of a form. */

import type { ComponentChildren, JSX } from 'preact';
import type { Field } from '../../lib/form/fields.ts';
import { isJson, type Entered } from './draft.ts';
import { sentence } from '../sentence.ts';

interface FieldProps<F extends Field = Field> {
  field: F;
  /** Unique on the page. */
  id: string;
  value: Entered;
  mistake: string | undefined;
  onEnter: (value: Entered) => void;
}

type Kind<K extends Field['kind']> = Extract<Field, { kind: K }>;

/** More choices than this are a menu. */
const BUTTONS = 6;
const LONG_TEXT = 300;
/** Choices with short labels lie beside each other. */
const BRIEF = 22;

export function FieldInput(props: FieldProps): JSX.Element {
  const { field } = props;
  switch (field.kind) {
    case 'text':
      return <TextInput {...props} field={field} />;
    case 'yes or no':
      return <YesNo {...props} field={field} />;
    case 'one of':
      return field.choices.length > BUTTONS ? <Menu {...props} field={field} /> : <OneOf {...props} field={field} />;
    case 'several of':
      return <SeveralOf {...props} field={field} />;
  }
}

const describedBy = (id: string, help: string, mistake: string | undefined): string | undefined =>
  [help === '' ? '' : `${id}-help`, mistake === undefined ? '' : `${id}-mistake`].filter(Boolean).join(' ') ||
  undefined;

function Below({ id, field, mistake }: { id: string; field: Field; mistake: string | undefined }): JSX.Element {
  return (
    <>
      {field.help !== '' && (
        <p class="help" id={`${id}-help`}>
          {sentence(field.help.replace(/^\((.*)\)$/, '$1'))}
        </p>
      )}
      {mistake !== undefined && (
        <p class="mistake" id={`${id}-mistake`}>
          {sentence(mistake)}
        </p>
      )}
    </>
  );
}

function Labelled(props: FieldProps & { children: ComponentChildren }): JSX.Element {
  const { id, field, mistake, children } = props;
  return (
    <div class={`field ${mistake === undefined ? '' : 'wrong'}`}>
      <label for={id}>{field.title}</label>
      {children}
      <Below id={id} field={field} mistake={mistake} />
    </div>
  );
}

function Grouped(props: FieldProps & { children: ComponentChildren }): JSX.Element {
  const { id, field, mistake, children } = props;
  return (
    <fieldset
      class={`field ${mistake === undefined ? '' : 'wrong'}`}
      aria-describedby={describedBy(id, field.help, mistake)}
    >
      <legend>{field.title}</legend>
      {children}
      <Below id={id} field={field} mistake={mistake} />
    </fieldset>
  );
}

/** By format. The types of JSX want each of them in an element of its own. */
const INPUT_TYPES = {
  email: 'email',
  uri: 'url',
  date: 'date',
  'date-time': 'datetime-local',
} as unknown as Record<string, 'text'>;

function TextInput(props: FieldProps<Kind<'text'>>): JSX.Element {
  const { field, id, value, mistake, onEnter } = props;
  const { type, format, maxLength } = field.schema;
  const text = typeof value === 'string' ? value : '';
  const shared = {
    id,
    name: field.name,
    value: text,
    required: field.required,
    'aria-invalid': mistake !== undefined,
    'aria-describedby': describedBy(id, field.help, mistake),
    onInput: (event: { currentTarget: { value: string } }) => onEnter(event.currentTarget.value),
  };
  const json = isJson(field.schema);
  if (json || (format === undefined && typeof maxLength === 'number' && maxLength > LONG_TEXT) || text.includes('\n')) {
    return (
      <Labelled {...props}>
        <textarea {...shared} rows={json ? 3 : 2} class={json ? 'code' : ''} spellcheck={!json} />
      </Labelled>
    );
  }
  const isNumber = type === 'number' || type === 'integer';
  return (
    <Labelled {...props}>
      <input
        {...shared}
        type={isNumber ? 'text' : (INPUT_TYPES[String(format)] ?? 'text')}
        inputMode={type === 'integer' ? 'numeric' : isNumber ? 'decimal' : undefined}
        placeholder={field.placeholder}
        step={format === 'date-time' ? 1 : undefined}
        autocomplete="off"
        class={isNumber ? 'number' : ''}
      />
    </Labelled>
  );
}

function YesNo(props: FieldProps<Kind<'yes or no'>>): JSX.Element {
  const { field, id, value, onEnter } = props;
  const options: [string, boolean | undefined][] = [
    ['Yes', true],
    ['No', false],
  ];
  if (!field.required) options.push(['No answer', undefined]);
  return (
    <Grouped {...props}>
      <div class="segments">
        {options.map(([label, option], index) => (
          <label key={label}>
            <input
              type="radio"
              id={index === 0 ? id : undefined}
              name={id}
              checked={value === option}
              onChange={() => onEnter(option)}
            />
            <span>{label}</span>
          </label>
        ))}
      </div>
    </Grouped>
  );
}

function OneOf(props: FieldProps<Kind<'one of'>>): JSX.Element {
  const { field, id, value, onEnter } = props;
  const none = field.required ? [] : [{ label: 'No answer', index: undefined }];
  const options = [...field.choices.map(({ label }, index) => ({ label, index })), ...none];
  return (
    <Grouped {...props}>
      <div class={`choices ${isBrief(options) ? 'brief' : ''}`}>
        {options.map(({ label, index }, at) => (
          <label key={at} class="choice">
            <input
              type="radio"
              id={at === 0 ? id : undefined}
              name={id}
              checked={value === index}
              onChange={() => onEnter(index)}
            />
            <span>{label}</span>
          </label>
        ))}
      </div>
    </Grouped>
  );
}

const isBrief = (options: readonly { label: string }[]): boolean => options.every(({ label }) => label.length <= BRIEF);

function Menu(props: FieldProps<Kind<'one of'>>): JSX.Element {
  const { field, id, value, mistake, onEnter } = props;
  return (
    <Labelled {...props}>
      <select
        id={id}
        name={field.name}
        value={typeof value === 'number' ? String(value) : ''}
        aria-invalid={mistake !== undefined}
        aria-describedby={describedBy(id, field.help, mistake)}
        onChange={({ currentTarget }) => onEnter(currentTarget.value === '' ? undefined : Number(currentTarget.value))}
      >
        <option value="">{field.required ? 'Choose…' : 'No answer'}</option>
        {field.choices.map(({ label }, index) => (
          <option key={index} value={String(index)}>
            {label}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

function SeveralOf(props: FieldProps<Kind<'several of'>>): JSX.Element {
  const { field, id, value, onEnter } = props;
  const chosen = new Set(Array.isArray(value) ? (value as number[]) : []);
  const toggle = (index: number): void => {
    if (!chosen.delete(index)) chosen.add(index);
    onEnter([...chosen]);
  };
  return (
    <Grouped {...props}>
      <div class={`choices ${isBrief(field.choices) ? 'brief' : ''}`}>
        {field.choices.map(({ label }, index) => (
          <label key={index} class="choice">
            <input
              type="checkbox"
              id={index === 0 ? id : undefined}
              name={id}
              checked={chosen.has(index)}
              onChange={() => toggle(index)}
            />
            <span>{label}</span>
          </label>
        ))}
      </div>
    </Grouped>
  );
}
