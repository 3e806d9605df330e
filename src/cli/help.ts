/** The help texts; lines are wrapped to the width of the terminal. */

import { VERSION } from '../lib/version.ts';
import {
  definitionOf,
  FLAGS,
  PUBLIC_COMMANDS,
  type CommandDefinition,
  type CommandName,
  type FlagDefinition,
  type FlagName,
  type Group,
} from './definitions.ts';
import type { HelpTopic } from './flags.ts';
import { CLIENT_NAMES } from './link/names.ts';
import { pad } from './terminal/layout.ts';
import { readingWidth, reflow } from './terminal/reflow.ts';

/** What the help says about a command besides its definition. */
interface Prose {
  /** The usage line, if it is more than the command and its operands. */
  usage?: string;
  about: string;
  /** The command takes servers; its help explains how to name one. */
  servers?: true;
  /** The heading of the flags that are also environment variables. */
  envFlags?: string;
  examples: readonly string[];
  exitCodes: string;
}

const SERVERS = `<server> is one of
  a name in the config file   --config FILE, MEANWHILE_CONFIG, or meanwhile.json in this folder; without a file, 'demo'
  a URL                       https://example.org/mcp, with --header 'Name: value', which can be repeated
  a command in quotes         "npx -y some-server --flag", "KEY=value node server.js", some-server`;

const EXIT_CODES = `Exit codes
    0  success
    1  failed: the server reports an error, cannot be reached, or disconnects; doctor found a problem
    2  wrong usage or configuration
    3  the tool itself reports an error
    4  cancelled, by the server or by you
    5  timed out (--timeout)
    6  a question was left unanswered: no terminal and no --answer
  130  interrupted, or left running`;

const GATEWAY_EXIT_CODES = 'Exit codes: 0 stopped, 1 cannot start, 2 wrong usage or configuration';

const LINK_EXIT_CODES = `Exit codes
    0  done, or nothing to do
    1  a file could not be parsed or written and was not changed; the other files were changed
    2  wrong usage or configuration
    4  not confirmed
    6  no terminal and no --yes
  130  interrupted`;

const SHOWN_EXIT_CODES = `Exit codes
  0  success
  1  the gateway cannot be reached or refuses the request
  2  wrong usage or configuration`;

const FIND_GATEWAY = `Without a URL, the command uses the gateway that you started with the same config file and store. Other gateways
require a token.`;

const GATEWAY_FLAGS = 'Flags, with their environment variables; the config file has the same settings';

const PROSE: Partial<Record<CommandName, Prose>> = {
  stdio: {
    usage: '[stdio] [flags]',
    about: `Runs as an MCP server on standard input and output until the input ends; clients start this command. It offers the tools of
the hub; with --all, --group or --server, the tools of all servers, of a group, or of one server. It logs only warnings
and errors unless you set a level. It uses a meanwhile.json in the current folder only with --config.`,
    envFlags: GATEWAY_FLAGS,
    examples: ['meanwhile stdio --config ~/meanwhile.json', 'meanwhile stdio --config ~/meanwhile.json --all'],
    exitCodes: GATEWAY_EXIT_CODES,
  },
  serve: {
    about: `Runs as an MCP server over HTTP until it is stopped. The hub is at http://127.0.0.1:8080/mcp, each server of the config
file at /mcp/NAME, and all of them as one at /mcp/all. Without --config and MEANWHILE_CONFIG it uses meanwhile.json in
the current folder.`,
    envFlags: GATEWAY_FLAGS,
    examples: ['meanwhile serve --config meanwhile.json --port 8081'],
    exitCodes: GATEWAY_EXIT_CODES,
  },
  demo: {
    about: `Plays a demonstration with its own gateway and server: a call that becomes a task, a question, an answer, a result. At the
end it prints an entry for a client's .mcp.json.`,
    examples: ['meanwhile demo'],
    exitCodes: 'Exit codes: 0 success, 1 failed, 2 wrong usage, 130 interrupted',
  },
  notify: {
    usage: 'notify test [target] [flags]\n       meanwhile notify list [url] [flags]',
    about: `test sends a test message to one or all targets in meanwhile.notify.targets of the config file, and prints each result. It
does not need a running gateway. list shows the queued and failed notifications of a running gateway.`,
    examples: ['meanwhile notify test', 'meanwhile notify test phone --config meanwhile.json', 'meanwhile notify list'],
    exitCodes: 'Exit codes: 0 success, 1 a target failed, 2 wrong usage or configuration',
  },
  call: {
    usage: 'call <server> <tool> [key=value …] [key:=json …] [flags]',
    about: `Calls a tool and prints its result. Values are converted to the types of the tool's schema: numbers, true or false, lists
and objects as JSON; repeat a key to make a list. key:=json is sent unchanged.

On a terminal it shows the progress of the call and asks you the server's questions. Ctrl-C asks whether to cancel
the call, to leave it running if the server keeps it as a task, or to continue. Without a terminal, use --answer.`,
    servers: true,
    examples: [
      'meanwhile call demo slow_report topic=tea seconds=2',
      "meanwhile call https://example.org/mcp search query=tea limit:=5 --header 'Authorization: Bearer …'",
      `meanwhile call "npx -y some-server" book --args @booking.json --answer '{"confirm":true}' --json`,
    ],
    exitCodes: EXIT_CODES,
  },
  tools: {
    about: `Lists the tools of a server, or shows some in full, with their schemas and how to call them. 'task' marks a tool that
always runs as a task, 'task?' a tool that can run as one.`,
    servers: true,
    examples: [
      'meanwhile tools demo',
      'meanwhile tools demo slow_report',
      'meanwhile tools https://example.org/mcp --json',
    ],
    exitCodes: EXIT_CODES,
  },
  resources: {
    about: `Lists the resources and resource templates (marked 'template') of a server, or reads some resources.`,
    servers: true,
    examples: ['meanwhile resources files', 'meanwhile resources files file:///notes.txt --out notes'],
    exitCodes: EXIT_CODES,
  },
  prompts: {
    about: `Lists the prompts of a server, or gets one with its arguments filled in.`,
    servers: true,
    examples: ['meanwhile prompts files', 'meanwhile prompts files review path=notes.txt'],
    exitCodes: EXIT_CODES,
  },
  tasks: {
    about: `Shows and controls the tasks of a server.
  list <server>              lists the tasks that the server shows this client
  get <server> <task id>     shows the state of a task
  result <server> <task id>  waits for the task and prints its result; asks you its questions
  watch <server> <task id>   like result, but also prints each change
  cancel <server> <task id>  cancels the task

Ctrl-C during result and watch asks whether to stop waiting and let the task continue, or to cancel it.

A server of the older protocol may keep tasks per session: --session ID names the session that created the task.`,
    servers: true,
    examples: [
      'meanwhile tasks list http://127.0.0.1:8080/mcp/demo',
      'meanwhile tasks result http://127.0.0.1:8080/mcp/demo 01M7HHJHZZ1V',
    ],
    exitCodes: EXIT_CODES,
  },
  doctor: {
    about: `Connects to each server of the config file, or to the given servers, and prints its capabilities, and each problem with a
fix. If a program exits, doctor shows its last output. The exit code is 1 if there is a problem. Disabled servers are
only listed. Without names, doctor also checks the command or URL in each linked client (see meanwhile link).`,
    servers: true,
    examples: ['meanwhile doctor', 'meanwhile doctor files https://example.org/mcp --timeout 60s'],
    exitCodes: EXIT_CODES,
  },
  rules: {
    about: `test shows which rule of the config file decides on a call, and why, without making the call. It reads the annotations of
the tool from the server; if it cannot reach the server, the defaults for missing annotations apply.
init connects to the servers of the config file and prints rules for their tools: ask before a tool that may delete or
overwrite something, allow read-only tools. init changes nothing: review the rules and put them into the config file.`,
    examples: [
      'meanwhile rules test files delete_file path=/tmp/notes.txt',
      'meanwhile rules test files delete_file path=/etc/hosts --principal ada --json',
      'meanwhile rules init --config meanwhile.json',
    ],
    exitCodes: EXIT_CODES,
  },
  access: {
    about: `test shows which servers of the config file a principal may use and which rule of "access" decides; with a server or a tool,
whether the principal may use it. A principal is a name from auth.tokens, <subject>@<issuer>, or local. --scope and --claim
set the scopes and claims of its access token.`,
    examples: [
      'meanwhile access test ada',
      'meanwhile access test ada github delete_repository',
      "meanwhile access test 'u1@https://login.example.com' db-prod query --claim groups=engineering",
    ],
    exitCodes: EXIT_CODES,
  },
  store: {
    about: `Shows and maintains the store of the gateway.
  show    the file or database, its size, the gateways that use it, and the number of records (the default)
  prune   removes expired tasks, and sessions without unfinished tasks that were idle for longer than sessions.idleMs, with
          all their data; then shrinks the file. Stop the gateway that uses the file first. In a PostgreSQL database, prune
          keeps the sessions of running gateways
  export  writes all records as JSON lines to standard output:
          {"kind":"session|server|task|question|event","record":{…}}. Tasks include their arguments and results, sessions
          their ids; the secrets of added servers are left out. While a gateway uses the store, the records are not a
          consistent snapshot

The command uses the same store as serve. show and export change nothing, and work while a gateway is running.`,
    envFlags: 'Flags',
    examples: ['meanwhile store', 'meanwhile store prune --older-than 7d', 'meanwhile store export > records.jsonl'],
    exitCodes: `Exit codes
  0  done
  1  failed: the store does not exist, is in use or damaged, or was written by a newer version
  2  wrong usage or configuration`,
  },
  top: {
    about: `Shows the metrics of a running gateway: its sessions, calls, tasks, questions, servers and store. On a terminal it
refreshes until you press q; elsewhere, and with --once or --json, it prints the state once.

Without a URL it reads the gateway of the config file, or the gateway at http://127.0.0.1:8080. The gateway starts to
count calls at the first request for its metrics (see docs/OBSERVABILITY.md).`,
    envFlags: 'Flags',
    examples: ['meanwhile top', 'meanwhile top http://gateway:8080 --token … --once', 'meanwhile top --json'],
    exitCodes: SHOWN_EXIT_CODES,
  },
  console: {
    about: `Prints the link to the console of a running gateway, and opens it in the browser. The link signs you in until the gateway
stops: keep it secret. With --token, the page asks for the token instead.

${FIND_GATEWAY}`,
    envFlags: 'Flags',
    examples: ['meanwhile console', 'meanwhile console --print', 'meanwhile console http://gateway:8080 --token …'],
    exitCodes: SHOWN_EXIT_CODES,
  },
  inbox: {
    about: `Lists the open questions of a running gateway, from the calls of all clients, and asks them on the terminal, like
meanwhile call. The first answer counts; if another person was faster, inbox shows who answered. Esc leaves a question open.
Without a terminal, inbox only lists the questions; to answer one, give its id and --answer.

${FIND_GATEWAY}`,
    envFlags: 'Flags',
    examples: [
      'meanwhile inbox --follow',
      'meanwhile inbox --json',
      `meanwhile inbox 01M7HHJHZZ1V --answer '{"confirm":true}'`,
    ],
    exitCodes: `Exit codes
    0  success, also if a question was left open
    1  the gateway cannot be reached or refuses the request; the question is no longer open
    2  wrong usage or configuration; the answer is invalid
    6  no terminal and no --answer
  130  interrupted`,
  },
  status: {
    about: `Shows the current state of a gateway: open questions, calls and tasks with their progress, servers and
sessions. Use meanwhile watch to follow them, and meanwhile top for metrics.

${FIND_GATEWAY}`,
    envFlags: 'Flags',
    examples: ['meanwhile status', 'meanwhile status http://gateway:8080 --token …', 'meanwhile status --json'],
    exitCodes: SHOWN_EXIT_CODES,
  },
  watch: {
    about: `Follows a running gateway: open questions, running calls and tasks with their progress, and ended calls.
On a terminal it fills the screen until you press q; elsewhere, and with --json, it prints a line for each change.

${FIND_GATEWAY}`,
    envFlags: 'Flags',
    examples: ['meanwhile watch', 'meanwhile watch --json | jq .item.status'],
    exitCodes: SHOWN_EXIT_CODES,
  },
  audit: {
    about: `Lists the audit record of a gateway: calls, questions, answers, approvals, sign-ins and server changes, each with its
principal, time and outcome. Turn the record on with "audit": true in the config file. With --json the command exports
all matching lines, oldest first.

${FIND_GATEWAY} If no gateway is running, the command reads the lines from the store.`,
    envFlags: 'Flags',
    examples: [
      'meanwhile audit --since 2h --kind call --server files',
      'meanwhile audit --follow --principal ann',
      'meanwhile audit --json --since 2026-11-01 > november.jsonl',
    ],
    exitCodes: SHOWN_EXIT_CODES,
  },
  login: {
    about: `Signs you in to a server that requires it. The command prints a link, opens it in the browser, and waits until you have
signed in. The gateway keeps the tokens, encrypted, and continues the calls that waited for the sign-in.

${FIND_GATEWAY} If no gateway is running, the command keeps the tokens in the store.`,
    envFlags: 'Flags',
    examples: ['meanwhile login github', 'meanwhile login github --no-browser'],
    exitCodes: `Exit codes
    0  signed in
    1  the gateway or the server refuses the request, or cannot be reached
    2  wrong usage or configuration
    5  timed out (--timeout)
    6  the sign-in was not completed in time
  130  interrupted`,
  },
  logout: {
    about: `Deletes your tokens for a server, and revokes them if its authorization server supports that.

${FIND_GATEWAY} If no gateway is running, the command uses the store.`,
    envFlags: 'Flags',
    examples: ['meanwhile logout github'],
    exitCodes: SHOWN_EXIT_CODES,
  },
  whoami: {
    about: `Shows your principal at the gateway, and the accounts with which it uses servers for you: where you signed in, with which
scopes, and until when.

${FIND_GATEWAY} If no gateway is running, the command uses the store.`,
    envFlags: 'Flags',
    examples: ['meanwhile whoami', 'meanwhile whoami --json'],
    exitCodes: SHOWN_EXIT_CODES,
  },
  link: {
    about: `Adds Meanwhile to the config file of each client, or of the given clients, so that the client starts it: ${CLIENT_NAMES.join(', ')}.
Without names it links the clients that it finds on this machine.

link shows the change first and makes it after you confirm. The rest of the file stays unchanged. A file that
Meanwhile cannot parse is not changed. meanwhile unlink undoes the change; meanwhile doctor checks that the entry works.`,
    examples: [
      'meanwhile link',
      'meanwhile link claude-code cursor --config ~/meanwhile.json',
      "meanwhile link vscode --url http://127.0.0.1:8080 --header 'Authorization: Bearer …'",
    ],
    exitCodes: LINK_EXIT_CODES,
  },
  unlink: {
    about: `Undoes what meanwhile link did to the config file of each client, or of the given clients. If nothing else has changed the file
since, unlink restores it byte for byte; otherwise it removes only the Meanwhile entry. It removes an entry that you wrote by
hand only if you name the client.`,
    examples: ['meanwhile unlink', 'meanwhile unlink cursor --yes'],
    exitCodes: LINK_EXIT_CODES,
  },
  import: {
    about: `Copies the servers of your MCP clients, or of the given clients, into the config file: ${CLIENT_NAMES.join(', ')}.

import shows the change first, without secrets, and makes it after you confirm. Servers that are already in the config file
stay unchanged; a different server of the same name is reported and skipped. Disabled servers and Meanwhile itself are
skipped, too. import does not change the files of the clients.`,
    examples: ['meanwhile import', 'meanwhile import cursor --config ~/meanwhile.json --yes'],
    exitCodes: `Exit codes
    0  done, or nothing to do
    1  a server or a file could not be imported; the others were imported
    2  wrong usage
    4  not confirmed
    6  no terminal and no --yes
  130  interrupted`,
  },
  completion: {
    about: `Prints a script that lets the shell complete commands and flags.`,
    examples: [
      "bash   echo 'source <(meanwhile completion bash)' >> ~/.bashrc",
      'zsh    meanwhile completion zsh > "${fpath[1]}/_meanwhile"',
      'fish   meanwhile completion fish > ~/.config/fish/completions/meanwhile.fish',
    ],
    exitCodes: 'Exit codes: 0 success, 2 wrong usage',
  },
};

/** Help on a topic, wrapped for this output. */
export function helpOn(topic: HelpTopic, output: { isTTY?: boolean; columns?: number }): string {
  return reflow(textOn(topic), readingWidth(output));
}

function textOn(topic: HelpTopic): string {
  if (topic === 'exit-codes') return `${EXIT_CODES}\n`;
  const prose = topic === 'program' ? undefined : PROSE[topic];
  return topic === 'program' || prose === undefined ? programHelp() : commandHelp(topic, prose);
}

/** The command that shows this help. */
export function helpCommand(command: CommandName | undefined): string {
  return command !== undefined && PROSE[command] !== undefined ? `meanwhile ${command} --help` : 'meanwhile --help';
}

// --- The program ---

const GROUPS: readonly [Group, string][] = [
  ['gateway', 'Gateway'],
  ['people', 'A running gateway'],
  ['setup', 'Setup'],
  ['client', 'Client for any MCP server'],
];

function programHelp(): string {
  const groups = GROUPS.flatMap(([group, title]) => [
    title,
    ...rowsOf(PUBLIC_COMMANDS.filter((name) => definitionOf(name).group === group)),
  ]);
  return `meanwhile ${VERSION}: an MCP gateway for slow calls and open questions
  Usage: meanwhile <command> [flags]

${groups.join('\n')}

--config FILE, --no-color, --version; more: meanwhile help <command>|exit-codes
`;
}

/** Longer operands say enough without a summary. */
const OPERAND_COLUMNS = 30;

function rowsOf(names: readonly CommandName[]): string[] {
  const definitions = names.map((name) => ({ name, ...definitionOf(name) }));
  const shared = new Set(definitions.flatMap(({ together }) => together?.with ?? []));
  const rows = definitions
    .filter(({ name }) => !shared.has(name))
    .map(({ name, operands = '', summary, together }) => ({
      names: [name, ...(together?.with ?? [])].join(', '),
      operands: together?.operands ?? operands,
      summary: together?.summary ?? summary,
    }));
  const withOperands = rows.every(({ operands }) => operands !== '');
  const nameColumns = Math.max(NAME_COLUMNS, ...rows.map((row) => row.names.length));
  const width = Math.max(...rows.map(({ operands }) => operands.length).filter((length) => length <= OPERAND_COLUMNS));
  return rows.map(({ names: all, operands, summary }) => {
    const columns = operands.length > width ? [operands] : [withOperands ? pad(operands, width) : '', summary];
    return `  ${[pad(all, nameColumns), ...columns.filter((column) => column !== '')].join('  ')}`;
  });
}

const NAME_COLUMNS = Math.max(...PUBLIC_COMMANDS.map((name) => name.length));

// --- A command ---

function commandHelp(name: CommandName, prose: Prose): string {
  const definition = definitionOf(name);
  const usage = prose.usage ?? [name, definition.operands, '[flags]'].filter(Boolean).join(' ');
  return [
    `Usage: meanwhile ${usage}`,
    prose.about,
    ...(prose.servers ? [SERVERS] : []),
    ...(definition.flags.length === 0 ? [] : [flagSection(definition, prose)]),
    ['Examples', ...prose.examples.map((example) => `  ${example}`)].join('\n'),
    `${prose.exitCodes}\n`,
  ].join('\n\n');
}

function flagSection(definition: CommandDefinition, { envFlags }: Prose): string {
  const rows = definition.flags.map((name) => {
    const { value, short, env = '', help }: FlagDefinition = FLAGS[name];
    const flag = `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
    return [flag, ...(envFlags === undefined ? [] : [env]), helpOf(name, definition, help)];
  });
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map(
    (row) =>
      `  ${row.map((cell, column) => pad(cell, row.length - 1 === column ? 0 : (widths[column] ?? 0))).join('  ')}`,
  );
  return [envFlags ?? 'Flags', ...lines].join('\n');
}

const helpOf = (name: FlagName, { flagHelp = {} }: CommandDefinition, usual: string): string => flagHelp[name] ?? usual;
