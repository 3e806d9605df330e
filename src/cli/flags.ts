import { parseArgs } from 'node:util';
import type { ConfigFlags } from '../config/load.ts';
import { codeOf, messageOf } from '../lib/log.ts';
import {
  COMMANDS,
  definitionOf,
  FLAGS,
  GENERAL_FLAGS,
  PUBLIC_COMMANDS,
  type CommandName,
  type FlagDefinition,
  type FlagName,
} from './definitions.ts';
import { didYouMean } from './did-you-mean.ts';
import { hintFor } from './unknown-option.ts';

/** All flags; each command accepts some of them. */
export interface Flags extends ConfigFlags {
  header?: string[];
  session?: string;
  timeout?: string;
  json?: boolean;
  args?: string;
  answer?: string[];
  out?: string;
  stdio?: boolean;
  server?: string;
  all?: boolean;
  group?: string;
  'older-than'?: string;
  'with-secrets'?: boolean;
  yes?: boolean;
  hub?: boolean;
  url?: string;
  token?: string;
  interval?: string;
  once?: boolean;
  follow?: boolean;
  print?: boolean;
  'no-browser'?: boolean;
  tool?: string;
  webhook?: string;
  principal?: string;
  kind?: string;
  since?: string;
  until?: string;
  text?: string;
  limit?: string;
  scope?: string[];
  claim?: string[];
}

export interface CommandLine {
  command: CommandName;
  /** False if the command is the default, `stdio`; `--help` then describes the program. */
  named: boolean;
  /** Positional arguments after the command. */
  operands: string[];
  flags: Flags;
  /** The topic to show help on, instead of running the command. */
  help: HelpTopic | undefined;
  version: boolean;
  noColor: boolean;
}

export type HelpTopic = 'program' | 'exit-codes' | CommandName;

export class UsageError extends Error {}

/** Flags of every command that are handled here. */
interface General {
  help?: boolean;
  version?: boolean;
  'no-color'?: boolean;
}

type Options = Record<string, { type: 'string' | 'boolean'; short?: string; multiple?: boolean }>;

function optionsFor(names: readonly FlagName[]): Options {
  return Object.fromEntries(names.map((name) => [name, optionFor(FLAGS[name])]));
}

function optionFor({ value, short, multiple }: FlagDefinition): Options[string] {
  const type = value === undefined ? 'boolean' : 'string';
  return { type, ...(short !== undefined && { short }), ...(multiple && { multiple }) };
}

const GENERAL = optionsFor(GENERAL_FLAGS);
const ALL = optionsFor(Object.keys(FLAGS) as FlagName[]);

function optionsOf(command: CommandName): Options {
  const { flags, unlisted = [] } = definitionOf(command);
  return optionsFor([...GENERAL_FLAGS, ...flags, ...unlisted]);
}

export function parseCommandLine(typed: readonly string[]): CommandLine {
  const args = withLowerCaseV(typed);
  const name = firstWord(args);
  if (name === 'help' || name === 'version') return aboutTheProgram(args, name);
  if (name !== undefined && !isCommand(name)) {
    const { help, version } = strict(args, ALL).values;
    if (help || version) return ABOUT(version === true);
    throw new UsageError(noSuchCommand(name));
  }
  const command = name ?? 'stdio';
  const { values, positionals } = strict(args, optionsOf(command), command);
  const { help = false, version = false, 'no-color': noColor = false, ...flags } = values as Flags & General;
  const operands = positionals.slice(1);
  if (isGateway(command) && operands.length > 0) throw new UsageError(`unexpected argument '${operands[0]}'`);
  return {
    command,
    named: name !== undefined,
    operands,
    flags,
    help: help ? (name ?? 'program') : undefined,
    version,
    noColor,
  };
}

/** `meanwhile help call` and `meanwhile version`, as in other programs. */
function aboutTheProgram(args: string[], name: 'help' | 'version'): CommandLine {
  const [, command, extra] = strict(args, GENERAL).positionals;
  const unexpected = name === 'version' ? command : extra;
  if (unexpected !== undefined) throw new UsageError(`unexpected argument '${unexpected}'`);
  if (name === 'version' || command === undefined) return ABOUT(name === 'version');
  if (command !== 'exit-codes' && !isCommand(command)) throw new UsageError(noSuchCommand(command));
  return ABOUT(false, command);
}

const ABOUT = (version: boolean, help: HelpTopic = 'program'): CommandLine => ({
  command: 'stdio',
  named: false,
  operands: [],
  flags: {},
  help,
  version,
  noColor: false,
});

/** Accepts -V for -v: programs differ in which one prints the version. */
function withLowerCaseV(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  return args.map((arg, index) => (arg === '-V' && index < end ? '-v' : arg));
}

function noSuchCommand(name: string): string {
  const near = didYouMean(name, [...PUBLIC_COMMANDS, 'help', 'version']);
  const all = `the commands are ${PUBLIC_COMMANDS.slice(0, -1).join(', ')} and ${PUBLIC_COMMANDS.at(-1)}`;
  return `no command '${name}'${near === '' ? '; ' : `${near}\n`}${all}`;
}

/** The command of a line that may have mistakes. */
export function commandIn(args: string[]): CommandName | undefined {
  const name = firstWord(args);
  return name !== undefined && isCommand(name) ? name : undefined;
}

/** Flags may come before the command, so all of them have to be known to find it. */
function firstWord(args: string[]): string | undefined {
  return parseArgs({ args, options: ALL, allowPositionals: true, strict: false }).positionals[0];
}

function strict(args: string[], options: Options, command?: CommandName) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(explained((error as Error).message, args, options, command));
  }
}

/** Replaces messages of Node.js that are hard to read. */
function explained(message: string, args: string[], options: Options, command: CommandName | undefined): string {
  const option = /^Unknown option '(--?[^'.]*)/.exec(message)?.[1];
  if (option === undefined) return message;
  const near = didYouMean(
    option,
    Object.keys(options).map((name) => `--${name}`),
  );
  return `Unknown option '${option}'${near === '' ? hintFor({ option, args, command }) : near}`;
}

const GATEWAYS = new Set<CommandName>(['stdio', 'serve', 'demo', 'demo-server']);

/** Commands that run until they are stopped; all others end by themselves. */
export const isGateway = (name: CommandName): boolean => GATEWAYS.has(name);

const NAMES_SETTING = new Set<unknown>(['STORE_IN_USE', 'EADDRINUSE']);

/** The message of an error, with a flag in place of the name of a setting. */
export function inFlags(error: unknown): string {
  const message = messageOf(error);
  return NAMES_SETTING.has(codeOf(error)) ? message.replace(/ another `(\w+)`/, ' another with --$1') : message;
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);
