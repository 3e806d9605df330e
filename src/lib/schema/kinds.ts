/** The kinds of values that schemas are made of. */

import { isObject } from '../values.ts';
import { below, isOver, type Issue } from './issue.ts';
import { Schema, type JsonSchemaNode, type Kind, type Output } from './schema.ts';

export type { Issue } from './issue.ts';
export type { JsonSchemaNode, Output, Schema } from './schema.ts';

type Shape = Record<string, Schema<unknown>>;
type Flat<T> = { [K in keyof T]: T[K] };

/** Keys whose value may be missing are optional. */
export type ObjectOf<S extends Shape> = Flat<
  { [K in keyof S as undefined extends Output<S[K]> ? never : K]: Output<S[K]> } & {
    [K in keyof S as undefined extends Output<S[K]> ? K : never]?: Output<S[K]>;
  }
>;

class TextSchema extends Schema<string> {
  min(minimum: number): this {
    return this.checked(
      (value, issues) => {
        if ((value as string).length >= minimum) return;
        issues.push({ code: 'too_small', origin: 'string', path: [], minimum, goesOn: true });
      },
      { minLength: minimum },
    );
  }

  max(maximum: number): this {
    return this.checked(
      (value, issues) => {
        if ((value as string).length <= maximum) return;
        issues.push({ code: 'too_big', origin: 'string', path: [], maximum, goesOn: true });
      },
      { maxLength: maximum },
    );
  }

  regex(pattern: RegExp, message: string): this {
    return this.refine((value) => pattern.test(value), message).meta({ pattern: pattern.source });
  }
}

class NumberSchema extends Schema<number> {
  min(minimum: number): this {
    return this.checked(
      (value, issues) => {
        if ((value as number) >= minimum) return;
        issues.push({ code: 'too_small', origin: 'number', path: [], minimum, goesOn: true });
      },
      { minimum },
    );
  }

  max(maximum: number): this {
    return this.checked(
      (value, issues) => {
        if ((value as number) <= maximum) return;
        issues.push({ code: 'too_big', origin: 'number', path: [], maximum, goesOn: true });
      },
      { maximum },
    );
  }
}

export const string = (): TextSchema =>
  new TextSchema(ofType('string', (value) => typeof value === 'string', { type: 'string' }));

export const number = (): NumberSchema => new NumberSchema(ofType('number', Number.isFinite, { type: 'number' }));

export function int(): NumberSchema {
  return new NumberSchema(ofType('number', Number.isFinite, { type: 'integer' })).checked((value, issues) => {
    if (!Number.isInteger(value)) issues.push({ code: 'invalid_type', expected: 'int', path: [] });
  });
}

export const boolean = (): Schema<boolean> =>
  new Schema(ofType('boolean', (value) => typeof value === 'boolean', { type: 'boolean' }));

export const unknown = (): Schema<unknown> => new Schema({ read: (value) => value, node: () => ({}) });

export const literal = <const T extends string | number | boolean>(value: T): Schema<T> => oneOf([value]);

function oneOf<const T extends string | number | boolean>(values: readonly T[]): Schema<T> {
  return new Schema({
    read: (value, issues) => {
      if (!values.includes(value as T)) issues.push({ code: 'invalid_value', path: [], values });
      return value;
    },
    node: () => ({ type: typeof values[0], enum: [...values] }),
  });
}

export { oneOf as enum };

export function array<T>(item: Schema<T>): Schema<T[]> {
  const list = ofType('array', Array.isArray, { type: 'array' });
  return new Schema({
    read: (value, issues) => {
      if (!Array.isArray(list.read(value, issues))) return value;
      return (value as unknown[]).map((each, index) => readAt(item, each, index, issues));
    },
    node: () => ({ ...list.node(), items: item.jsonSchema() }),
  });
}

export function record<T>(key: Schema<string>, item: Schema<T>): Schema<Record<string, T>> {
  const object = ofType('record', isObject, { type: 'object' });
  return new Schema({
    read: (value, issues) => {
      if (!isObject(object.read(value, issues))) return value;
      const read: [string, unknown][] = [];
      for (const [name, each] of Object.entries(value as Record<string, unknown>)) {
        const wrong = key.safeParse(name);
        if (wrong.success) read.push([name, readAt(item, each, name, issues)]);
        else issues.push({ code: 'invalid_key', path: [name], issues: wrong.issues });
      }
      return Object.fromEntries(read);
    },
    node: () => ({ ...object.node(), propertyNames: key.jsonSchema(), additionalProperties: item.jsonSchema() }),
  });
}

/** Other keys are left out. */
export const object = <S extends Shape>(shape: S): Schema<ObjectOf<S>> => objectOf(shape, false);

/** Other keys are mistakes. */
export const strictObject = <S extends Shape>(shape: S): Schema<ObjectOf<S>> => objectOf(shape, true);

function objectOf<S extends Shape>(shape: S, strict: boolean): Schema<ObjectOf<S>> {
  const type = ofType('object', isObject, { type: 'object' });
  return new Schema({
    read: (value, issues) => {
      if (!isObject(type.read(value, issues))) return value;
      const given = value as Record<string, unknown>;
      const read: Record<string, unknown> = {};
      for (const [key, schema] of Object.entries(shape)) {
        const each = readAt(schema, Object.hasOwn(given, key) ? given[key] : undefined, key, issues);
        if (each !== undefined || Object.hasOwn(given, key)) read[key] = each;
      }
      const keys = strict ? Object.keys(given).filter((key) => !Object.hasOwn(shape, key)) : [];
      if (keys.length > 0) issues.push({ code: 'unrecognized_keys', path: [], keys, goesOn: true });
      return read;
    },
    node: () => {
      const properties = Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, schema.jsonSchema()]));
      const required = Object.keys(shape).filter((key) => shape[key]?.kind.outer === undefined);
      return {
        ...type.node(),
        properties,
        ...(required.length > 0 && { required }),
        ...(strict && { additionalProperties: false }),
      };
    },
  });
}

/** The first that takes the value; or the only one whose type it has, to say what is wrong with it. */
export function union<S extends readonly Schema<unknown>[]>(schemas: S): Schema<Output<S[number]>> {
  return new Schema({
    read: (value, issues) => {
      const results = schemas.map((schema) => {
        const wrong: Issue[] = [];
        return { read: schema.kind.read(value, wrong), wrong };
      });
      const right = results.find(({ wrong }) => wrong.length === 0);
      if (right) return right.read;
      const [likely, another] = results.filter(({ wrong }) => !isOver(wrong));
      if (likely && !another) issues.push(...likely.wrong);
      else issues.push({ code: 'invalid_union', path: [], errors: results.map(({ wrong }) => wrong) });
      return value;
    },
    node: () => ({ anyOf: schemas.map((schema) => schema.jsonSchema()) }),
  });
}

function ofType(expected: string, isRight: (value: unknown) => boolean, node: JsonSchemaNode): Kind {
  return {
    read: (value, issues) => {
      if (!isRight(value)) issues.push({ code: 'invalid_type', expected, path: [] });
      return value;
    },
    node: () => node,
  };
}

function readAt(schema: Schema<unknown>, value: unknown, step: string | number, issues: Issue[]): unknown {
  const wrong: Issue[] = [];
  const read = schema.kind.read(value, wrong);
  if (wrong.length > 0) issues.push(...below(step, wrong));
  return read;
}
