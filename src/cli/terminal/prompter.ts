/** Asks the person at the terminal, on standard error: standard output is for the result. */

import type * as Clack from '@clack/prompts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { styleFor } from './style.ts';
import { wrap } from './layout.ts';

export type PromptResult<T> =
  | { kind: 'answered'; value: T }
  /** The person pressed Esc. */
  | { kind: 'escaped' }
  /** The person pressed Ctrl-C. */
  | { kind: 'interrupted' }
  /** The signal was aborted during the question. */
  | { kind: 'over' };

export interface Option<T> {
  value: T;
  label: string;
  hint?: string;
}

/** What Esc does at a question: it says no, or leaves the question to others. */
export type OnEscape = 'refuse' | 'leave';

/** The last choice at a question that can be left open. */
export function laterOption(onEscape: OnEscape): Option<'later'>[] {
  return onEscape === 'leave' ? [{ value: 'later', label: 'Later', hint: 'leave it open; also Esc' }] : [];
}

interface Common {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  signal: AbortSignal;
}

export class Prompter {
  readonly #input = process.stdin;
  readonly #output = process.stderr;

  /** Shows text before the next question. It may be from a server. */
  async say(text: string, kind: 'message' | 'info' | 'warn' | 'success' = 'message'): Promise<void> {
    const { log } = await load();
    const lines = clean(text).split('\n');
    log[kind](lines.flatMap((line) => this.#wrapped(line)).join('\n'), { output: this.#output });
  }

  /** Ends a series of questions. */
  async end(text: string): Promise<void> {
    const { outro } = await load();
    outro(clean(text), { output: this.#output });
  }

  async text(
    over: AbortSignal,
    options: {
      message: string;
      initial?: string;
      placeholder?: string;
      validate?: (text: string) => string | undefined;
    },
  ): Promise<PromptResult<string>> {
    const { message, initial, placeholder, validate } = options;
    return this.#ask(over, async ({ text, S_BAR }, common) =>
      text({
        ...common,
        // This prompt draws no bar beside lines that it wraps itself.
        message: this.#wrapped(cleanLine(message)).join(`\n${styleFor(this.#output).faint(S_BAR)}  `),
        ...(initial !== undefined && { initialValue: initial }),
        ...(placeholder !== undefined && { placeholder }),
        validate: (value) => validate?.(value ?? ''),
      }),
    );
  }

  /** Asks for several lines; two line breaks end them. */
  async lines(over: AbortSignal, message: string): Promise<PromptResult<string>> {
    return this.#ask(over, async ({ multiline }, common) =>
      multiline({
        ...common,
        message,
        validate: (value) => ((value ?? '').trim() === '' ? 'write something, or press Esc' : undefined),
      }),
    );
  }

  async choose<T>(
    over: AbortSignal,
    message: string,
    options: readonly Option<T>[],
    initial?: T,
  ): Promise<PromptResult<T>> {
    const at = initial === undefined ? -1 : options.findIndex(({ value }) => value === initial);
    const asked = await this.#ask(over, async ({ select }, common) =>
      select({
        ...common,
        message: cleanLine(message),
        options: options.map(({ label, hint }, value) => ({ value, label, ...(hint !== undefined && { hint }) })),
        ...(at >= 0 && { initialValue: at }),
      }),
    );
    if (asked.kind !== 'answered') return asked;
    const chosen = options[asked.value];
    return chosen === undefined ? { kind: 'escaped' } : { kind: 'answered', value: chosen.value };
  }

  async chooseSeveral<T>(
    over: AbortSignal,
    message: string,
    options: readonly Option<T>[],
    initial: readonly T[],
  ): Promise<PromptResult<T[]>> {
    const asked = await this.#ask(over, async ({ multiselect }, common) =>
      multiselect({
        ...common,
        message: cleanLine(message),
        options: options.map(({ label }, value) => ({ value, label })),
        initialValues: options.flatMap(({ value }, index) => (initial.includes(value) ? [index] : [])),
        required: false,
      }),
    );
    if (asked.kind !== 'answered') return asked;
    const chosen = new Set(asked.value);
    return { kind: 'answered', value: options.filter((_option, index) => chosen.has(index)).map(({ value }) => value) };
  }

  #wrapped(line: string): string[] {
    return wrap(line, this.#output.columns - 4);
  }

  async #ask<T>(
    over: AbortSignal,
    prompt: (clack: typeof Clack, common: Common) => Promise<T | typeof Clack.CANCEL_SYMBOL>,
  ): Promise<PromptResult<T>> {
    const clack = await load();
    if (over.aborted) return { kind: 'over' };
    // Each prompt needs its own signal: after an abort, an answered prompt would close the next one.
    const closing = new AbortController();
    const close = (): void => closing.abort();
    let interrupted = false;
    // In raw mode Ctrl-C is a key, and the prompt does not distinguish it from Esc.
    const onKey = (_text: string | undefined, key: { name?: string; ctrl?: boolean } | undefined): void => {
      if (key?.ctrl === true && key.name === 'c') interrupted = true;
    };
    over.addEventListener('abort', close, { once: true });
    this.#input.prependListener('keypress', onKey);
    try {
      const value = await prompt(clack, { input: this.#input, output: this.#output, signal: closing.signal });
      if (!clack.isCancel(value)) return { kind: 'answered', value };
      if (closing.signal.aborted) return { kind: 'over' };
      return { kind: interrupted ? 'interrupted' : 'escaped' };
    } finally {
      over.removeEventListener('abort', close);
      this.#input.removeListener('keypress', onKey);
    }
  }
}

/** Loaded at the first question. */
async function load(): Promise<typeof Clack> {
  return import('@clack/prompts');
}
