/** Reads the arguments of a tool from the command line. */

import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { JsonError, parseJson } from '../../config/json.ts';
import { messageOf } from '../../lib/log.ts';
import { isObject } from '../../lib/values.ts';
import { UsageError } from '../flags.ts';

export type GivenArgument =
  /** `key=value`: the schema of the tool decides its type. */
  | { key: string; kind: 'text'; text: string }
  /** `key:=json` */
  | { key: string; kind: 'json'; value: unknown };

export function parseArguments(operands: readonly string[]): GivenArgument[] {
  return operands.map((operand) => {
    const equals = operand.indexOf('=');
    if (equals <= 0) throw new UsageError(`expected key=value or key:=json, got '${operand}'`);
    const text = operand.slice(equals + 1);
    if (operand[equals - 1] !== ':') return { key: operand.slice(0, equals), kind: 'text', text };
    const key = operand.slice(0, equals - 1);
    if (key === '') throw new UsageError(`expected key:=json, got '${operand}'`);
    return { key, kind: 'json', value: jsonOf(text, `${key}:=`) };
  });
}

/** `--args`: an object as JSON, `@file`, or `-` for standard input. */
export async function readArguments(source: string, input: NodeJS.ReadableStream): Promise<Record<string, unknown>> {
  const text = await textOf(source, input);
  const value = jsonOf(text, '--args');
  if (isObject(value)) return value;
  throw new UsageError('--args: expected a JSON object with the arguments by name');
}

async function textOf(source: string, input: NodeJS.ReadableStream): Promise<string> {
  if (source === '-') return readAll(input);
  if (!source.startsWith('@')) return source;
  try {
    return await readFile(source.slice(1), 'utf8');
  } catch (error) {
    throw new UsageError(`--args: ${messageOf(error)}`);
  }
}

export function jsonOf(text: string, where: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const place = error.line === 1 ? `at character ${error.column}` : `at ${error.line}:${error.column}`;
    throw new UsageError(`${where}: not valid JSON ${place}: ${error.message}`);
  }
}
