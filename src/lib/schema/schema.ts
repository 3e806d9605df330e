/**
 * Schemas for the values that are read at the start: the config, and what the store keeps. The ones of zod, which the tools of the hub
 * use, take 5 MB for the config alone. These have the same names, and as few of them as needed.
 */

import { isOver, summary, type Issue } from './issue.ts';

/** A node of a JSON Schema. */
export interface JsonSchemaNode {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  items?: JsonSchemaNode;
  properties?: Record<string, JsonSchemaNode>;
  propertyNames?: JsonSchemaNode;
  required?: string[];
  additionalProperties?: boolean | JsonSchemaNode;
  anyOf?: JsonSchemaNode[];
}

export type Parsed<T> = { success: true; data: T } | { success: false; issues: Issue[] };

/** Returns the value with its defaults, and adds what is wrong with it. */
export type Read = (value: unknown, issues: Issue[]) => unknown;

export interface Kind {
  read: Read;
  node: () => JsonSchemaNode;
  /** What a wrapper, such as a default, says before the schema in it. */
  outer?: JsonSchemaNode;
}

/** The type of the values that a schema returns. */
export type Output<S> = S extends Schema<infer T> ? T : never;

/** Immutable: each method returns another schema. */
export class Schema<T> {
  /** Carries the type; never set. */
  declare readonly type: T;
  readonly kind: Kind;

  constructor(kind: Kind) {
    this.kind = kind;
  }

  safeParse(value: unknown): Parsed<T> {
    const issues: Issue[] = [];
    const data = this.kind.read(value, issues) as T;
    return issues.length === 0 ? { success: true, data } : { success: false, issues };
  }

  parse(value: unknown): T {
    const parsed = this.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new TypeError(summary(parsed.issues));
  }

  jsonSchema(): JsonSchemaNode {
    const { node, outer } = this.kind;
    return { ...outer, ...node() };
  }

  /** A check of values of the right type. With `abort`, no other check follows a failed one. */
  refine(isRight: (value: T) => boolean, message: string, { abort = false } = {}): this {
    return this.checked((value, issues) => {
      if (!isRight(value as T)) issues.push({ code: 'custom', path: [], message, goesOn: !abort });
    });
  }

  checked(check: (value: unknown, issues: Issue[]) => void, more?: JsonSchemaNode): this {
    const { kind } = this;
    return this.with({
      ...kind,
      read: (value, issues) => {
        const own: Issue[] = [];
        const read = kind.read(value, own);
        if (!isOver(own)) check(read, own);
        issues.push(...own);
        return read;
      },
      node: more === undefined ? kind.node : () => ({ ...kind.node(), ...more }),
    });
  }

  describe(description: string): this {
    const { kind } = this;
    if (kind.outer) return this.with({ ...kind, outer: { ...kind.outer, description } });
    return this.with({ ...kind, node: () => ({ ...kind.node(), description }) });
  }

  /** More of the JSON Schema than the checks say. */
  meta(more: JsonSchemaNode): this {
    const { kind } = this;
    return this.with({ ...kind, node: () => ({ ...kind.node(), ...more }) });
  }

  optional(): Schema<T | undefined> {
    const { read } = this.kind;
    const node = (): JsonSchemaNode => this.jsonSchema();
    return new Schema({ read: (value, issues) => (value === undefined ? value : read(value, issues)), node, outer: {} });
  }

  default(fallback: T): Schema<T> {
    return this.#or(fallback, () => fallback);
  }

  /** Like `default`, for a value that the schema completes. */
  prefault(fallback: unknown): Schema<T> {
    return this.#or(fallback, this.kind.read);
  }

  #or(fallback: unknown, instead: Read): Schema<T> {
    const { read } = this.kind;
    const node = (): JsonSchemaNode => this.jsonSchema();
    return new Schema({
      read: (value, issues) => (value === undefined ? instead(structuredClone(fallback), issues) : read(value, issues)),
      node,
      outer: { default: fallback },
    });
  }

  transform<U>(change: (value: T) => U): Schema<U> {
    const { kind } = this;
    return new Schema({
      ...kind,
      read: (value, issues) => {
        const own: Issue[] = [];
        const read = kind.read(value, own);
        issues.push(...own);
        return own.length === 0 ? change(read as T) : read;
      },
    });
  }

  /** The same with another kind. */
  protected with(kind: Kind): this {
    return new (this.constructor as new (kind: Kind) => this)(kind);
  }
}
