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
  /** Shell completions of its value. */
  complete?: Completion;
}

/** Files, folders, or one of these words. */
export type Completion = 'files' | 'folders' | readonly string[];

export const FLAGS = {
  help: { short: 'h', help: 'show this help' },
  version: { short: 'v', help: 'show the version' },
  'no-color': { help: 'do not use colours' },
  config: { value: 'FILE', env: 'MEANWHILE_CONFIG', help: 'servers and settings', complete: 'files' },
  port: { value: 'N', env: 'MEANWHILE_PORT', help: 'the port; 0 selects any free port' },
  host: { value: 'NAME', env: 'MEANWHILE_HOST', help: 'the address to listen on' },
  advertise: {
    value: 'URL',
    env: 'MEANWHILE_ADVERTISE',
    help: 'the URL for other gateways on the same postgres:// store',
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
    help: 'all arguments as one JSON object, given here, in a file, or on standard input',
  },
  answer: {
    value: 'JSON',
    multiple: true,
    help:
      `the answer to the next question; can be repeated. The fields of the form, as in '{"name":"Ada"}', or ` +
      `'{"action":"decline"}', or '{"action":"cancel"}'; '{"text":"…"}' for a sampling request. Without a terminal, ` +
      'the exit code is 2 if an answer is invalid, and 6 if an answer is missing',
  },
  out: { value: 'DIR', help: 'write images, audio and other data to files in DIR', complete: 'folders' },
  header: { value: "'N: value'", multiple: true, help: 'an HTTP header for a server with a URL; can be repeated' },
  session: { value: 'ID', help: 'resume a session on a server with a URL' },
  timeout: {
    value: 'TIME',
    help: 'give up after 500ms, 30s, 5m, 1h; a number alone means seconds; default: no limit',
  },
  json: { help: 'print exactly one JSON document on standard output; errors as {"error":{"code","message"}}' },
  stdio: { help: 'use the store that stdio would use here; each folder or config file has its own' },
  'older-than': { value: 'TIME', help: 'prune: also remove tasks that ended longer ago than this, such as 12h or 7d' },
  yes: { short: 'y', help: 'do not ask for confirmation' },
  hub: { help: 'link the hub, whose tools reach all servers; the default for other clients' },
  url: {
    value: 'URL',
    help: 'link a running gateway, such as http://127.0.0.1:8080, instead of a program to start',
  },
  token: { value: 'TOKEN', env: 'MEANWHILE_TOKEN', help: 'a token for the gateway' },
  interval: { value: 'TIME', help: 'how often to refresh, such as 500ms or 10s; default: 2s' },
  once: { help: 'print the state once, and exit' },
  follow: { short: 'f', help: 'wait for new questions and ask them as they arrive, until stopped' },
  webhook: {
    value: 'URL',
    help: 'for a call through a gateway: the URL to notify when the task ends, if notify.taskWebhooks allows it',
  },
  principal: { value: 'NAME', help: 'the principal that makes the call; default: local' },
  scope: { value: 'NAME', multiple: true, help: 'a scope that the access token has; can be repeated' },
  claim: { value: 'NAME=VALUE', multiple: true, help: 'a claim that the access token has; can be repeated' },
  'no-browser': { help: 'print the link, but do not open the browser' },
  print: { help: 'only print the link; do not open the browser' },
  tool: { value: 'NAME', help: 'only lines about this tool' },
  kind: { value: 'KIND', help: `only lines of this kind: ${AUDIT_KIND_NAMES.join(', ')}`, complete: AUDIT_KIND_NAMES },
  since: { value: 'TIME', help: 'only lines since this time: 2h or 7d (ago), 2026-11-17, or 2026-11-17T08:30' },
  until: { value: 'TIME', help: 'only lines before this time' },
  text: { value: 'TEXT', help: 'only lines that contain this text anywhere' },
  limit: { value: 'N', help: 'list only the newest N lines; default: 50' },
  'with-secrets': { help: 'export: include headers, environment, arguments and URL credentials of added servers' },
} as const satisfies Record<string, FlagDefinition>;

export type FlagName = keyof typeof FLAGS;

/** Flags that every command accepts. */
export const GENERAL_FLAGS = ['help', 'version', 'no-color', 'config'] as const satisfies readonly FlagName[];

/** The section of `meanwhile --help` that lists a command. Commands that only the program itself uses have none. */
export type Group = 'gateway' | 'people' | 'client' | 'setup';

export interface CommandDefinition {
  group?: Group;
  /** The operands, as the usage line shows them. */
  operands?: string;
  summary: string;
  /** Commands that share one line of `meanwhile --help`, and the text of that line. */
  together?: { with: readonly string[]; operands?: string; summary: string };
  /** In the order of the command's help; the general flags are always accepted. */
  flags: readonly FlagName[];
  /** Flags that have another meaning or default in this command. */
  flagHelp?: Partial<Record<FlagName, string>>;
  /** Accepted but not listed: the command explains why they do not apply, or clients pass them to every gateway. */
  unlisted?: readonly FlagName[];
  /** Shell completions of the operands. */
  complete?: Completion;
}

const LOG = ['log-level', 'log-format'] as const;
const CLIENT = ['config', 'header', 'session', 'timeout', 'json', 'no-color'] as const;
const CONFIG_OF_SERVER = { config: 'the config file that names the server' };

/** How commands find a running gateway. */
const GATEWAY = ['config', 'store', 'url', 'token'] as const;
const GATEWAY_HELP = {
  config: "the gateway's config file, for its address, store and token",
  store: "the gateway's store; the key of a running gateway is next to it",
  url: 'the address of the gateway, such as http://127.0.0.1:8080',
} as const;

const ACCOUNT_HELP = {
  ...GATEWAY_HELP,
  store: "the gateway's store, which the command uses directly if no gateway is running",
};

/** Names and keywords that a shell completes, and the order of the help. */
export const COMMANDS = {
  serve: {
    group: 'gateway',
    summary: 'run as an MCP server over HTTP, at http://127.0.0.1:8080/mcp',
    flags: ['config', 'port', 'host', 'store', 'advertise', 'dry-run', ...LOG],
  },
  stdio: {
    group: 'gateway',
    summary: 'run as an MCP server on stdin and stdout, for clients to start',
    flags: ['config', 'all', 'group', 'server', 'store', 'dry-run', ...LOG],
    unlisted: ['port', 'host'],
  },
  demo: {
    group: 'gateway',
    summary: 'play a short demonstration',
    flags: ['log-level'],
    unlisted: ['config', 'port', 'host', 'store', 'log-format'],
  },
  'demo-server': {
    summary: 'run the server of the demonstration',
    flags: ['config', 'port', 'host', 'store', ...LOG],
  },
  store: {
    group: 'gateway',
    operands: '[show|prune|export]',
    summary: 'show, prune or export the stored data',
    together: { with: ['audit'], operands: '', summary: 'inspect the stored data and the audit record' },
    flags: ['config', 'store', 'stdio', 'json', 'older-than', 'with-secrets'],
    flagHelp: {
      config: 'the config file, which may name the store',
      store: 'the store',
      json:
        'print exactly one JSON document on standard output; errors as {"error":{"code","message"}}. export always ' +
        'prints one document per line',
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
      server: 'only lines about this server',
      principal: 'only lines about this principal',
      follow: 'print new lines as they are written, until stopped',
      json: 'print each line as one JSON document, and all lines unless --limit is given; errors as {"error":{"code","message"}}',
    },
  },
  console: {
    group: 'people',
    operands: '[url]',
    summary: 'open the console in the browser',
    together: { with: ['notify'], operands: '[url]', summary: 'open the console, test notifications' },
    flags: ['print', ...GATEWAY],
    flagHelp: GATEWAY_HELP,
  },
  notify: {
    group: 'people',
    operands: 'test [target] | list [url]',
    summary: 'send a test message, or list pending notifications',
    flags: [...GATEWAY, 'json', 'no-color'],
    flagHelp: { ...GATEWAY_HELP, config: "the gateway's config file, for the targets, its address and token" },
    complete: ['test', 'list'],
  },
  inbox: {
    group: 'people',
    operands: '[question id]',
    summary: 'list and answer open questions',
    flags: ['follow', 'answer', ...GATEWAY, 'json', 'no-color'],
    flagHelp: {
      ...GATEWAY_HELP,
      answer:
        `the answer to the question with this id: the fields of the form, as in '{"name":"Ada"}', or ` +
        `'{"action":"decline"}', or '{"action":"cancel"}'; '{"text":"…"}' for a sampling request`,
      json:
        'list the questions, or show one, as one JSON document; with --follow, one document per question and line; ' +
        'errors as {"error":{"code","message"}}',
    },
  },
  status: {
    group: 'people',
    operands: '[url]',
    summary: 'show running calls, tasks and open questions',
    together: { with: ['watch', 'top'], operands: '[url]', summary: 'show activity: once, live, as metrics' },
    flags: [...GATEWAY, 'json', 'no-color'],
    flagHelp: GATEWAY_HELP,
  },
  watch: {
    group: 'people',
    operands: '[url]',
    summary: 'follow tasks, questions and progress as they change',
    flags: [...GATEWAY, 'json', 'no-color'],
    flagHelp: { ...GATEWAY_HELP, json: 'print each change as one JSON document per line' },
  },
  top: {
    group: 'people',
    operands: '[url]',
    summary: 'show live metrics of a running gateway',
    flags: ['config', 'url', 'token', 'interval', 'once', 'json', 'no-color'],
    flagHelp: {
      config: "the gateway's config file, for its address and token",
      url: GATEWAY_HELP.url,
      json: 'print the state once, as one JSON document',
    },
  },
  login: {
    group: 'people',
    operands: '<server>',
    summary: 'sign in to a server',
    together: { with: ['logout', 'whoami'], operands: '[server]', summary: 'sign in, sign out, show accounts' },
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
    summary: 'show your principal and your accounts on servers',
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
      summary: 'connect clients, undo, import servers',
    },
    flags: ['config', 'all', 'hub', 'url', 'header', 'yes', 'no-color'],
    flagHelp: {
      config: 'the config file that clients start Meanwhile with; default: ./meanwhile.json, if it exists',
      all: 'link all servers with their own tools; the default for clients with tool search (Claude Code)',
      header: 'an HTTP header for --url, such as a token; can be repeated',
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
    summary: 'copy the servers of your clients into meanwhile.json',
    flags: ['config', 'yes', 'no-color'],
    flagHelp: { config: 'the config file to write; default: ./meanwhile.json' },
    complete: CLIENT_NAMES,
  },
  doctor: {
    group: 'setup',
    operands: '[server …]',
    summary: 'find problems with servers and linked clients',
    together: { with: ['rules', 'access'], summary: 'find problems, test rules' },
    flags: ['config', 'header', 'timeout', 'json', 'no-color'],
    flagHelp: {
      config: 'the config file with the servers',
      timeout: 'give up on a server after 500ms, 30s, 5m; a number alone means seconds; default: 15s',
      json: 'print one JSON document on standard output',
    },
  },
  rules: {
    group: 'setup',
    operands: 'test <server> <tool> [key=value …] | init',
    summary: 'test the rules for calls, or propose rules',
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
    summary: 'show what a principal may use, and which rule decides',
    flags: ['scope', 'claim', 'config', 'json', 'no-color'],
    flagHelp: { config: 'the config file with the access rules' },
    complete: ['test'],
  },
  completion: {
    group: 'setup',
    operands: 'bash|zsh|fish',
    summary: 'print a shell completion script',
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
    summary: 'list tools, or show some in full',
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
    summary: 'show and control tasks on a server',
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
