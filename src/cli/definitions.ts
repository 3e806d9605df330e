/** The commands and their flags, defined once: the command line, the help and the shell completion are made from this. */

import { LOG_FORMATS, LOG_LEVELS } from '../lib/log.ts';
import { AUDIT_KIND_NAMES } from './audit/kinds.ts';
import { CLIENT_NAMES } from './link/names.ts';

export interface FlagDefinition {
  /** The name of its value in the help. A flag without one is a switch. */
  value?: string;
  short?: string;
  /** It can be given several times. */
  multiple?: true;
  /** The environment variable that does the same. */
  env?: string;
  help: string;
  /** What a shell completes as its value. */
  complete?: Completion;
}

/** Files, folders, or one of these words. */
export type Completion = 'files' | 'folders' | readonly string[];

export const FLAGS = {
  help: { short: 'h', help: 'help' },
  version: { short: 'v', help: 'the version' },
  'no-color': { help: 'no colours' },
  config: { value: 'FILE', env: 'MEANWHILE_CONFIG', help: 'servers and settings', complete: 'files' },
  port: { value: 'N', env: 'MEANWHILE_PORT', help: 'the port; 0 takes any free one' },
  host: { value: 'NAME', env: 'MEANWHILE_HOST', help: 'the address to listen on' },
  advertise: {
    value: 'URL',
    env: 'MEANWHILE_ADVERTISE',
    help: 'where other gateways on the same postgres:// store reach this one',
  },
  store: {
    value: 'PATH',
    env: 'MEANWHILE_STORE',
    help: 'file, :memory: or postgres:// URL',
    complete: 'files',
  },
  'log-level': {
    value: 'LEVEL',
    env: 'MEANWHILE_LOG_LEVEL',
    help: 'debug, info, warn, error, silent',
    complete: LOG_LEVELS,
  },
  'log-format': {
    value: 'FORMAT',
    env: 'MEANWHILE_LOG_FORMAT',
    help: 'auto, json or text',
    complete: LOG_FORMATS,
  },
  'dry-run': { help: 'only log what "answers" would do' },
  all: { help: 'serve all servers as one' },
  group: { value: 'NAME', help: 'serve this group of servers as one' },
  server: { value: 'NAME', help: 'serve only this server' },
  args: {
    value: 'JSON|@file|-',
    help: 'all arguments as one JSON object, from a file, or from standard input',
  },
  answer: {
    value: 'JSON',
    multiple: true,
    help:
      `the answer to the next question; can be repeated. The fields of the form, as in '{"name":"Ada"}', or ` +
      `'{"action":"decline"}', or '{"action":"cancel"}'; '{"text":"…"}' for a sampling request. Without a terminal, an ` +
      'answer that does not fit means exit code 2, a missing one 6',
  },
  out: { value: 'DIR', help: 'write images, audio and other data to files in DIR', complete: 'folders' },
  header: { value: "'N: value'", multiple: true, help: 'a header for a server with a URL; can be repeated' },
  session: { value: 'ID', help: 'continue a session at a server with a URL' },
  timeout: {
    value: 'TIME',
    help: 'give up after 500ms, 30s, 5m, 1h; a number alone means seconds; default: no limit',
  },
  json: { help: 'exactly one JSON document on standard output; errors as {"error":{"code","message"}}' },
  stdio: { help: 'the store that stdio would use here: each folder or config file has its own' },
  'older-than': { value: 'TIME', help: 'prune: also tasks that ended longer ago than this, such as 12h or 7d' },
  yes: { short: 'y', help: 'do not ask for confirmation' },
  hub: { help: 'the hub, whose tools reach all servers; the default for other clients' },
  url: {
    value: 'URL',
    help: 'the address of a running gateway, such as http://127.0.0.1:8080, instead of a program to start',
  },
  token: { value: 'TOKEN', env: 'MEANWHILE_TOKEN', help: 'a token of the gateway' },
  interval: { value: 'TIME', help: 'how often to look, such as 500ms or 10s; default: 2s' },
  once: { help: 'print the state once' },
  follow: { short: 'f', help: 'wait for new questions, and ask them as they come, until stopped' },
  webhook: {
    value: 'URL',
    help: 'through a gateway: the URL to call when the task ends, if notify.taskWebhooks allows it',
  },
  principal: { value: 'NAME', help: 'who makes the call (default: local), or only lines of this principal' },
  scope: { value: 'NAME', multiple: true, help: 'a scope that the access token has; can be repeated' },
  claim: { value: 'NAME=VALUE', multiple: true, help: 'a claim that the access token has; can be repeated' },
  'no-browser': { help: 'print the link, and do not open the browser' },
  print: { help: 'print the link only; do not open the browser' },
  tool: { value: 'NAME', help: 'only lines of this tool' },
  kind: { value: 'KIND', help: `only lines of this kind: ${AUDIT_KIND_NAMES.join(', ')}`, complete: AUDIT_KIND_NAMES },
  since: { value: 'TIME', help: 'only what happened since then: 2h or 7d ago, 2026-11-17, or 2026-11-17T08:30' },
  until: { value: 'TIME', help: 'only what happened before then' },
  text: { value: 'TEXT', help: 'only lines with this text, wherever it is in the line' },
  limit: { value: 'N', help: 'how many lines, the newest; default: 50' },
  'with-secrets': { help: 'export: include headers, environment, arguments and URL credentials of added servers' },
} as const satisfies Record<string, FlagDefinition>;

export type FlagName = keyof typeof FLAGS;

/** Flags that every command accepts. */
export const GENERAL_FLAGS = ['help', 'version', 'no-color', 'config'] as const satisfies readonly FlagName[];

/** The part of `meanwhile --help` that a command is in; commands that only the program itself uses are in none. */
export type Group = 'gateway' | 'people' | 'client' | 'setup';

export interface CommandDefinition {
  group?: Group;
  /** What follows the command, as in its usage. */
  operands?: string;
  summary: string;
  /** Commands that share its line in the help of the program, and what that says of all of them. */
  together?: { with: readonly string[]; operands?: string; summary: string };
  /** In the order of its help; the general flags are always accepted. */
  flags: readonly FlagName[];
  /** Flags with another meaning or default at this command. */
  flagHelp?: Partial<Record<FlagName, string>>;
  /** Accepted, but not shown: the command says why they do not apply, or a client may give them to any gateway. */
  unlisted?: readonly FlagName[];
  /** What a shell completes as the operands. */
  complete?: Completion;
}

const LOG = ['log-level', 'log-format'] as const;
const CLIENT = ['config', 'header', 'session', 'timeout', 'json', 'no-color'] as const;
const CONFIG_OF_SERVER = { config: 'the config file that names the server' };

/** How commands find a running gateway. */
const GATEWAY = ['config', 'store', 'url', 'token'] as const;
const GATEWAY_HELP = {
  config: 'the config file of the gateway: where it listens, its store, and a token',
  store: 'the store of the gateway: beside it lies the key of the gateway that is running',
  url: 'the address of the gateway, such as http://127.0.0.1:8080',
} as const;

const ACCOUNT_HELP = { ...GATEWAY_HELP, store: 'the store of the gateway, which is used itself while none is running' };

/** Names and keywords that a shell completes, and the order of the help. */
export const COMMANDS = {
  serve: {
    group: 'gateway',
    summary: 'run as an MCP server over HTTP, at http://127.0.0.1:8080/mcp',
    flags: ['config', 'port', 'host', 'store', 'advertise', 'dry-run', ...LOG],
  },
  stdio: {
    group: 'gateway',
    summary: 'run as an MCP server on stdin and stdout, as clients start it',
    flags: ['config', 'all', 'group', 'server', 'store', 'dry-run', ...LOG],
    unlisted: ['port', 'host'],
  },
  demo: {
    group: 'gateway',
    summary: 'a short demonstration',
    flags: ['log-level'],
    unlisted: ['config', 'port', 'host', 'store', 'log-format'],
  },
  'demo-server': {
    summary: 'the server of the demonstration',
    flags: ['config', 'port', 'host', 'store', ...LOG],
  },
  store: {
    group: 'gateway',
    operands: '[show|prune|export]',
    summary: 'show, prune or export the stored data',
    together: { with: ['audit'], operands: '', summary: 'the stored data; the record of what happened' },
    flags: ['config', 'store', 'stdio', 'json', 'older-than', 'with-secrets'],
    flagHelp: {
      config: 'may name the store',
      store: 'the store',
      json:
        'exactly one JSON document on standard output; errors as {"error":{"code","message"}}. export always prints ' +
        'one per line',
    },
    complete: ['show', 'prune', 'export'],
  },
  audit: {
    group: 'gateway',
    operands: '[url]',
    summary: 'list, follow or export the audit record',
    flags: [
      'server',
      'tool',
      'principal',
      'kind',
      'since',
      'until',
      'text',
      'limit',
      'follow',
      ...GATEWAY,
      'stdio',
      'json',
      'no-color',
    ],
    flagHelp: {
      ...GATEWAY_HELP,
      server: 'only lines of this server',
      follow: 'print new lines as they are written, until stopped',
      json: 'every line as a JSON document, on a line of its own: all of them, unless --limit is given; errors as {"error":{"code","message"}}',
    },
  },
  console: {
    group: 'people',
    operands: '[url]',
    summary: 'open its console in the browser',
    together: { with: ['notify'], operands: '[url]', summary: 'open its console; test notifications' },
    flags: ['print', ...GATEWAY],
    flagHelp: GATEWAY_HELP,
  },
  notify: {
    group: 'people',
    operands: 'test [target] | list [url]',
    summary: 'send a test message, or list what waits',
    flags: [...GATEWAY, 'json', 'no-color'],
    flagHelp: { ...GATEWAY_HELP, config: 'the config file of the gateway: the targets, where it listens, and a token' },
    complete: ['test', 'list'],
  },
  inbox: {
    group: 'people',
    operands: '[question id]',
    summary: 'list and answer the questions that wait',
    flags: ['follow', 'answer', ...GATEWAY, 'json', 'no-color'],
    flagHelp: {
      ...GATEWAY_HELP,
      answer:
        `the answer to the question with this id: the fields of the form, as in '{"name":"Ada"}', or ` +
        `'{"action":"decline"}', or '{"action":"cancel"}'; '{"text":"…"}' for a sampling request`,
      json:
        'list the questions, or show one, as one JSON document; with --follow, one for each question, on a line; errors as ' +
        '{"error":{"code","message"}}',
    },
  },
  status: {
    group: 'people',
    operands: '[url]',
    summary: 'show what is running and waiting now',
    together: { with: ['watch', 'top'], operands: '[url]', summary: 'what it does: now, live, or in figures' },
    flags: [...GATEWAY, 'json', 'no-color'],
    flagHelp: GATEWAY_HELP,
  },
  watch: {
    group: 'people',
    operands: '[url]',
    summary: 'follow tasks, questions and progress as they change',
    flags: [...GATEWAY, 'json', 'no-color'],
    flagHelp: { ...GATEWAY_HELP, json: 'every change as a JSON document, on a line of its own' },
  },
  top: {
    group: 'people',
    operands: '[url]',
    summary: 'show the figures of a running gateway',
    flags: ['config', 'url', 'token', 'interval', 'once', 'json', 'no-color'],
    flagHelp: {
      config: 'says where the gateway listens, and a token',
      url: GATEWAY_HELP.url,
      json: 'the state once, as one JSON document',
    },
  },
  login: {
    group: 'people',
    operands: '<server>',
    summary: 'sign in at a server',
    together: { with: ['logout', 'whoami'], operands: '[server]', summary: 'accounts at servers' },
    flags: ['no-browser', 'timeout', ...GATEWAY, 'json', 'no-color'],
    flagHelp: ACCOUNT_HELP,
  },
  logout: {
    group: 'people',
    operands: '<server>',
    summary: 'revoke and delete the tokens for a server',
    flags: [...GATEWAY, 'json', 'no-color'],
    flagHelp: ACCOUNT_HELP,
  },
  whoami: {
    group: 'people',
    summary: 'show who you are at the gateway, and your accounts at servers',
    flags: [...GATEWAY, 'json', 'no-color'],
    flagHelp: ACCOUNT_HELP,
  },
  link: {
    group: 'setup',
    operands: '[client …]',
    summary: 'add Meanwhile to Claude Code, Cursor, VS Code, …',
    together: {
      with: ['unlink', 'import'],
      operands: '[client …]',
      summary: 'connect clients; undo; copy servers',
    },
    flags: ['config', 'all', 'hub', 'url', 'header', 'yes', 'no-color'],
    flagHelp: {
      config: 'the config file that the client starts Meanwhile with; by default ./meanwhile.json if it is there',
      all: 'all servers with their own tools; the default for clients that search tools: Claude Code',
      header: 'a header for --url, such as a token; can be repeated',
    },
    complete: CLIENT_NAMES,
  },
  unlink: {
    group: 'setup',
    operands: '[client …]',
    summary: 'remove Meanwhile from clients',
    flags: ['yes', 'no-color'],
    complete: CLIENT_NAMES,
  },
  import: {
    group: 'setup',
    operands: '[client …]',
    summary: 'collect the servers of clients in meanwhile.json',
    flags: ['config', 'yes', 'no-color'],
    flagHelp: { config: 'the config file to write; by default ./meanwhile.json' },
    complete: CLIENT_NAMES,
  },
  doctor: {
    group: 'setup',
    operands: '[server …]',
    summary: 'find problems with servers and linked clients',
    together: { with: ['rules', 'access'], summary: 'find problems; test rules' },
    flags: ['config', 'header', 'timeout', 'json', 'no-color'],
    flagHelp: {
      config: 'the config file with the servers',
      timeout: 'give up on a server after 500ms, 30s, 5m; a number alone means seconds; default: 15s',
      json: 'one JSON document on standard output',
    },
  },
  rules: {
    group: 'setup',
    operands: 'test <server> <tool> [key=value …] | init',
    summary: 'test the rules for calls, or propose some',
    flags: ['args', 'principal', 'config', 'timeout', 'json', 'no-color'],
    flagHelp: {
      config: 'the config file with the rules and the servers',
      timeout: 'give up on a server after 500ms, 30s, 5m; a number alone means seconds; default: 15s',
    },
    complete: ['test', 'init'],
  },
  access: {
    group: 'setup',
    operands: 'test <principal> [server] [tool]',
    summary: 'tell what a principal may use, and which rule says so',
    flags: ['scope', 'claim', 'config', 'json', 'no-color'],
    flagHelp: { config: 'the config file with the access rules' },
    complete: ['test'],
  },
  completion: {
    group: 'setup',
    operands: 'bash|zsh|fish',
    summary: 'print the completion script of a shell',
    flags: [],
    complete: ['bash', 'zsh', 'fish'],
  },
  call: {
    group: 'client',
    operands: '<server> <tool> [key=value …]',
    summary: 'call a tool',
    flags: ['args', 'answer', 'out', 'webhook', ...CLIENT],
    flagHelp: CONFIG_OF_SERVER,
  },
  tools: {
    group: 'client',
    operands: '<server> [tool …]',
    summary: 'list tools, or show some',
    together: {
      with: ['resources', 'prompts'],
      operands: '<server> [name …]',
      summary: 'list, or show some',
    },
    flags: CLIENT,
    flagHelp: CONFIG_OF_SERVER,
  },
  resources: {
    group: 'client',
    operands: '<server> [uri …]',
    summary: 'list resources, or read some',
    flags: ['out', ...CLIENT],
    flagHelp: CONFIG_OF_SERVER,
  },
  prompts: {
    group: 'client',
    operands: '<server> [name [key=value …]]',
    summary: 'list prompts, or get one',
    flags: ['out', ...CLIENT],
    flagHelp: CONFIG_OF_SERVER,
  },
  tasks: {
    group: 'client',
    operands: 'list|get|result|cancel|watch <server> [task id]',
    summary: 'show and control the tasks of a server',
    flags: ['answer', 'out', ...CLIENT],
    flagHelp: CONFIG_OF_SERVER,
    complete: ['list', 'get', 'result', 'cancel', 'watch'],
  },
} as const satisfies Record<string, CommandDefinition>;

export type CommandName = keyof typeof COMMANDS;

export const definitionOf = (name: CommandName): CommandDefinition => COMMANDS[name];

/** The commands for people, in the order of the help. */
export const PUBLIC_COMMANDS = (Object.keys(COMMANDS) as CommandName[]).filter(
  (name) => definitionOf(name).group !== undefined,
);
