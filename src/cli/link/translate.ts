/** Translates a server in the file of a client to the shape of `meanwhile.json`. */

import { URL_KEYS } from '../../config/server-entries.ts';
import { isObject } from '../../lib/values.ts';
import type { ClientEntry } from './format.ts';
import type { ClientName } from './names.ts';

export type Translation =
  | {
      kind: 'server';
      entry: ClientEntry;
      /** Environment variables that the entry refers to. */
      variables: string[];
      /** Notes for the person. */
      notes: string[];
    }
  /** Disabled, or not usable elsewhere. */
  | { kind: 'skipped'; why: string }
  /** It would not work in `meanwhile.json`. */
  | { kind: 'problem'; problem: string };

type Raw = Record<string, unknown>;

/** With `isNeeded`, a variable gets no empty default: an empty program or host name would not work. */
type TextWriter = (value: string, isNeeded?: boolean) => string;

const NO_TEXT = ':-';

class Untranslatable extends Error {}

/** A variable that is not set would keep the gateway from starting; it is written with an empty default. */
export function translate(
  client: ClientName,
  given: unknown,
  isSet: (variable: string) => boolean = () => true,
): Translation {
  if (!isObject(given)) return { kind: 'problem', problem: 'it is not an object' };
  if (given['disabled'] === true || given['enabled'] === false) return { kind: 'skipped', why: 'it is disabled' };
  const notes: string[] = [];
  const variables = new Set<string>();
  const note = (added: string): void => void notes.push(added);
  const text: TextWriter = (value, isNeeded = false) => {
    const written = VARIABLES[client](value, note);
    for (const [, name = '', fallback] of written.matchAll(/\$\{(?:env:)?(\w+)(:-[^}]*)?\}/g)) {
      if (fallback === undefined || fallback === NO_TEXT) variables.add(name);
    }
    return written.replaceAll(/\$\{(?:env:)?([A-Za-z_]\w*)\}/g, (whole, name: string, at: number) =>
      isSet(name) || (at === 0 && isNeeded) ? whole : `${whole.slice(0, -1)}${NO_TEXT}}`,
    );
  };
  try {
    const entry = entryOf(SHAPES[client]?.(given, note) ?? given, text, notes);
    if (entry === undefined) return { kind: 'skipped', why: 'it has neither a command nor a URL' };
    return { kind: 'server', entry, variables: [...variables], notes: [...new Set(notes)] };
  } catch (error) {
    if (error instanceof Untranslatable) return { kind: 'problem', problem: error.message };
    throw error;
  }
}

/** Keys that change how a server is reached, and that Meanwhile does not know. */
const UNKNOWN_KEYS = ['oauth', 'auth', 'headersHelper', 'authProviderType'];

function entryOf(raw: Raw, text: TextWriter, notes: string[]): ClientEntry | undefined {
  const ignored = UNKNOWN_KEYS.filter((key) => raw[key] !== undefined);
  if (ignored.length > 0)
    notes.push(`${ignored.join(', ')} cannot be imported; add headers if the server requires authorization`);
  const url = URL_KEYS.map((key) => raw[key]).find((value) => value !== undefined);
  if (typeof raw['command'] === 'string') {
    const { command, args, env, cwd, envFile } = raw;
    if (typeof cwd === 'string' && !/^(?:[/\\~]|[A-Za-z]:|\$\{)/.test(cwd)) {
      notes.push('its "cwd" is now relative to the folder of meanwhile.json');
    }
    return {
      command: text(command, true),
      ...(hasElements(args) && { args: strings(args, 'args').map((each) => text(each)) }),
      ...(hasElements(env) && { env: texts(env, 'env', text) }),
      ...(typeof cwd === 'string' && { cwd: text(cwd) }),
      ...(typeof envFile === 'string' && { envFile: text(envFile) }),
    };
  }
  if (typeof url !== 'string') return undefined;
  if (!/^(?:https?:|\$\{)/i.test(url)) throw new Untranslatable('its URL does not start with http:// or https://');
  const { headers } = raw;
  return { url: text(url, true), ...(hasElements(headers) && { headers: texts(headers, 'headers', text) }) };
}

const hasElements = (value: unknown): boolean =>
  value !== undefined && value !== null && (typeof value !== 'object' || Object.keys(value).length > 0);

function strings(value: unknown, key: string): string[] {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
  throw new Untranslatable(`its "${key}" is not a list of strings`);
}

/** Numbers and the like become texts, as clients pass them. */
function texts(value: unknown, key: string, text: (value: string) => string): Record<string, string> {
  if (!isObject(value)) throw new Untranslatable(`its "${key}" is not an object`);
  const fields = Object.entries(value).filter(([, each]) => each !== null && each !== undefined);
  if (fields.some(([, each]) => typeof each === 'object'))
    throw new Untranslatable(`its "${key}" has values that are not strings`);
  return Object.fromEntries(fields.map(([name, each]) => [name, text(String(each))]));
}

// --- Shapes of clients that differ from the usual one ---

const SHAPES: Partial<Record<ClientName, (given: Raw, note: (text: string) => void) => Raw>> = {
  zed: ({ command, ...rest }) => {
    if (!isObject(command)) return { command, ...rest };
    const { path, ...more } = command;
    return { ...rest, ...more, command: path };
  },
  opencode: ({ command, environment, ...rest }) => {
    if (!Array.isArray(command)) return { ...rest, env: environment };
    const [program, ...args] = command as unknown[];
    return { ...rest, command: program, args, env: environment };
  },
  codex: (given, note) => {
    literal(JSON.stringify(given), () => {});
    const { bearer_token_env_var: token, http_headers: fixed, env_http_headers: named, env_vars: passed } = given;
    const fromVariables = Object.entries(isObject(named) ? named : {}).map(([header, name]) => [
      header,
      `\${${String(name)}}`,
    ]);
    const headers = {
      ...(isObject(fixed) && fixed),
      ...Object.fromEntries(fromVariables),
      ...(typeof token === 'string' && { Authorization: `Bearer \${${token}}` }),
    };
    const names = (Array.isArray(passed) ? passed : []).flatMap((each: unknown) => {
      const name = isObject(each) && each['source'] !== 'remote' ? each['name'] : each;
      if (typeof name === 'string') return [name];
      note('a variable in its "env_vars" cannot be imported, because it is not from this machine');
      return [];
    });
    const env = {
      ...Object.fromEntries(names.map((name) => [name, `\${${name}${NO_TEXT}}`])),
      ...(isObject(given['env']) && given['env']),
    };
    return { ...given, headers, env };
  },
};

// --- Variables ---

type Writer = (value: string, note: (text: string) => void) => string;

/** Meanwhile expands `${NAME}` everywhere, and has no way to write it as text. */
const literal: Writer = (value) => {
  if (/\$\{\w/.test(value)) throw new Untranslatable('it contains ${…} as text, which Meanwhile would replace');
  return value;
};

const unchanged: Writer = (value) => value;

/** `${input:id}` is asked by the editor; here it becomes a variable. */
const ofEditors: Writer = (value, note) => {
  const written = value
    .replaceAll('${userHome}', '${HOME}')
    .replaceAll(/\$\{(?:pathSeparator|\/)\}/g, '/')
    .replaceAll(/\$\{input:([^}]+)\}/g, (_whole, id: string) => {
      const name = id
        .replaceAll(/\W+/g, '_')
        .replace(/^(?=\d)/, '_')
        .toUpperCase();
      note(`the editor asks for ${id}: set ${name} in the environment instead`);
      return `\${${name}}`;
    });
  const left = /\$\{(?!env:)(?:\w+:[^}-][^}]*|workspace\w*|fileWorkspace\w*)\}/.exec(written)?.[0];
  if (left !== undefined) throw new Untranslatable(`it uses ${left}, which only the editor knows`);
  return written;
};

const ofGemini: Writer = (value) => value.replaceAll(/\$([A-Za-z_]\w*)/g, '${$1}');

const ofOpencode: Writer = (value, note) => {
  if (/\{file:[^}]*\}/.test(value)) throw new Untranslatable('it reads a value from a file ({file:…})');
  return literal(value, note).replaceAll(/\{env:(\w+)\}/g, '${$1}');
};

/** How the variables of each client are written here. */
const VARIABLES: Record<ClientName, Writer> = {
  'claude-code': unchanged,
  'claude-desktop': literal,
  cursor: ofEditors,
  vscode: ofEditors,
  windsurf: ofEditors,
  zed: literal,
  // The keys that name variables are written as `${NAME}` by now.
  codex: unchanged,
  gemini: ofGemini,
  opencode: ofOpencode,
};
