/** The help texts; lines are wrapped to the width of the terminal. */

import { VERSION } from '../lib/version.ts';
import type { CommandName, HelpTopic } from './flags.ts';
import { readingWidth, reflow } from './terminal/reflow.ts';

const PROGRAM = `meanwhile ${VERSION}: an MCP gateway for slow calls and open questions

Usage: meanwhile <command> [flags]

Gateway
  serve      run as an MCP server over HTTP, at http://127.0.0.1:8080/mcp
  stdio      run as an MCP server on stdin and stdout, as clients start it
  demo       a short demonstration
  store      show, prune or export the stored data

Client for any MCP server
  call       <server> <tool> [key=value …]   call a tool
  tools      <server> [tool …]               list tools, or show some
  resources  <server> [uri …]                list resources, or read some
  prompts    <server> [name [key=value …]]   list prompts, or get one
  tasks      list|get|result|cancel|watch <server> [task id]
  doctor     [server …]                      find problems with servers

Flags
  --config FILE   servers and settings; by default ./meanwhile.json
  --no-color      no colours, as with NO_COLOR
  -h, --help      help; more: meanwhile help call, meanwhile help exit-codes
  -V, --version   the version
`;

const CONFIG_FLAG = `  --config FILE        MEANWHILE_CONFIG      servers and settings`;

const HTTP_FLAGS = `  --port N             MEANWHILE_PORT        the port; 0 takes any free one
  --host NAME          MEANWHILE_HOST        the address to listen on`;

const STORE_FLAGS = `  --store PATH         MEANWHILE_STORE       the file for tasks, or :memory:
  --log-level LEVEL    MEANWHILE_LOG_LEVEL   debug, info, warn, error, silent
  --log-format FORMAT  MEANWHILE_LOG_FORMAT  auto (text on a terminal, else json), json, text`;

const STDIO = `Usage: meanwhile [stdio] [flags]

Run as an MCP server on standard input and output, as a client starts it. It offers the tools of the hub; with --server
NAME it serves that one server of the config file instead. It ends when its input ends. Only warnings and errors are
logged unless a level is given. A meanwhile.json in the current folder is not used: name it with --config.

Flags, also as environment variables and in the config file
${CONFIG_FLAG}
  --server NAME                              serve only this server
${STORE_FLAGS}
`;

const SERVE = `Usage: meanwhile serve [flags]

Run as an MCP server over HTTP until it is stopped. The hub is at http://127.0.0.1:8080/mcp, and each server of the
config file at /mcp/NAME. Without --config and MEANWHILE_CONFIG it uses meanwhile.json in the current folder.

Flags, also as environment variables and in the config file
${CONFIG_FLAG}
${HTTP_FLAGS}
${STORE_FLAGS}
`;

const DEMO = `Usage: meanwhile demo [--log-level LEVEL]

Runs a demonstration with its own gateway and server: a call that becomes a task, a question, an answer, a result. At the
end it prints what to put into the .mcp.json of a client.
`;

const SERVERS = `
<server> is one of
  a name in the config file   --config FILE, MEANWHILE_CONFIG, or meanwhile.json in this folder; without one there is 'demo'
  a URL                       https://example.org/mcp, with --header 'Name: value' as often as needed
  a command in quotes         "npx -y some-server --flag", "KEY=value node server.js", some-server
`;

const CLIENT_FLAGS = `
  --config FILE        the config file that names the server
  --header 'N: value'  a header for a server with a URL; can be repeated
  --session ID         continue a session at a server with a URL
  --timeout TIME       give up after 500ms, 30s, 5m, 1h; a number alone means seconds; default: no limit
  --json               exactly one JSON document on standard output; errors as {"error":{"code","message"}}
  --no-color           no colours`;

const OUT_FLAG = `
  --out DIR            write images, audio and other data to files in DIR`;

const ANSWER_FLAG = `
  --answer JSON        the answer to the next question; can be repeated. The fields of the form, as in '{"name":"Ada"}',
                       or '{"action":"decline"}', or '{"action":"cancel"}'; '{"text":"…"}' for a sampling request.
                       Without a terminal, an answer that does not fit means exit code 2, a missing one 6`;

const EXIT_CODES = `Exit codes
    0  there is a result
    1  failed: the server reports an error, cannot be reached, or disconnected; doctor found a problem
    2  wrong usage or configuration
    3  the tool itself reports an error
    4  cancelled, by the server or by you
    5  time ran out (--timeout)
    6  a question was left unanswered: there was no terminal to ask on, and no --answer for it
  130  interrupted, or left running
`;

const CALL = `Usage: meanwhile call <server> <tool> [key=value …] [key:=json …] [flags]

Calls a tool and prints its result. Values are converted to the types of the tool's schema: numbers, true or false, lists
and objects as JSON; a key given several times makes a list. key:=json is sent as it is.

On a terminal it shows the progress of the call and asks you the questions of the server. Ctrl-C asks whether to cancel
the call, to leave it running if the server keeps it as a task, or to continue. Without a terminal, use --answer.
${SERVERS}
Flags
  --args JSON|@file|-  all arguments as one JSON object, from a file, or from standard input${ANSWER_FLAG}${OUT_FLAG}${CLIENT_FLAGS}

Examples
  meanwhile call demo slow_report topic=tea seconds=2
  meanwhile call https://example.org/mcp search query=tea limit:=5 --header 'Authorization: Bearer …'
  meanwhile call "npx -y some-server" book --args @booking.json --answer '{"confirm":true}' --json

${EXIT_CODES}`;

const TOOLS = `Usage: meanwhile tools <server> [tool …] [flags]

Lists the tools of a server, or shows some in full: how to call them, and their schemas. 'task' marks a tool that always
runs as a task, 'task?' one that can.
${SERVERS}
Flags${CLIENT_FLAGS}

${EXIT_CODES}`;

const RESOURCES = `Usage: meanwhile resources <server> [uri …] [flags]

Lists the resources of a server and its resource templates, marked 'template'; or reads some resources.
${SERVERS}
Flags${OUT_FLAG}${CLIENT_FLAGS}

${EXIT_CODES}`;

const PROMPTS = `Usage: meanwhile prompts <server> [name [key=value …]] [flags]

Lists the prompts of a server, or gets one with its arguments filled in.
${SERVERS}
Flags${OUT_FLAG}${CLIENT_FLAGS}

${EXIT_CODES}`;

const TASKS = `Usage: meanwhile tasks list|get|result|cancel|watch <server> [task id] [flags]

Shows and controls the tasks of a server.
  list <server>              lists the tasks that the server shows to this client
  get <server> <task id>     shows the state of a task
  result <server> <task id>  waits for the task and prints its result; asks you its questions
  watch <server> <task id>   the same, and prints each change of the task
  cancel <server> <task id>  cancels the task

Ctrl-C during result and watch asks whether to stop waiting, so that the task goes on, or to cancel it.

A server of the older protocol may keep tasks by session: --session ID is the one in which the task was created.
${SERVERS}
Flags${ANSWER_FLAG}${OUT_FLAG}${CLIENT_FLAGS}

${EXIT_CODES}`;

const DOCTOR = `Usage: meanwhile doctor [server …] [flags]

Connects to each server of the config file, or to those given, and prints its capabilities, and each problem with a fix.
For a program that exits, it shows the last output. The exit code is 1 if there is a problem. Disabled servers are only
listed.
${SERVERS}
Flags
  --config FILE        the config file with the servers
  --header 'N: value'  a header for a server with a URL; can be repeated
  --timeout TIME       give up on a server after 500ms, 30s, 5m; a number alone means seconds; default: 15s
  --json               one JSON document on standard output
  --no-color           no colours

${EXIT_CODES}`;

const STORE = `Usage: meanwhile store [show|prune|export] [flags]

Shows and maintains the store of the gateway.
  show    the file, its size, the process that uses it, and the number of records (the default)
  prune   removes expired tasks, and sessions without unfinished tasks that were idle for longer than sessions.idleMs, with
          all of their data; then shrinks the file. Refused while a gateway is using the store
  export  writes all records as JSON lines to standard output:
          {"kind":"session|server|task|question|event","record":{…}}. Tasks include their arguments and results, sessions
          their ids; secrets of added servers are hidden. While a gateway is using the store, the records are not a
          consistent snapshot

The store is the one that serve would use. show and export change nothing, and may be used while a gateway is running.

Flags
  --config FILE      MEANWHILE_CONFIG  may name the store
  --store PATH       MEANWHILE_STORE   the store
  --stdio            the store that stdio would use here: each folder or config file has its own
  --json             exactly one JSON document on standard output; errors as {"error":{"code","message"}}.
                     export always prints one per line
  --older-than TIME  prune: also tasks that ended longer ago than this, such as 12h or 7d
  --with-secrets     export: include headers, environment, arguments and URL credentials of added servers

Exit codes
  0  done
  1  failed: no such store, in use, damaged, written by a newer version
  2  wrong usage or configuration
`;

const COMMANDS: Partial<Record<CommandName, string>> = {
  stdio: STDIO,
  serve: SERVE,
  demo: DEMO,
  call: CALL,
  tools: TOOLS,
  resources: RESOURCES,
  prompts: PROMPTS,
  tasks: TASKS,
  doctor: DOCTOR,
  store: STORE,
};

/** Help on a topic, wrapped for this output. */
export function helpOn(topic: HelpTopic, output: { isTTY?: boolean; columns?: number }): string {
  return reflow(textOn(topic), readingWidth(output));
}

function textOn(topic: HelpTopic): string {
  if (topic === 'exit-codes') return EXIT_CODES;
  return (topic === 'program' ? undefined : COMMANDS[topic]) ?? PROGRAM;
}

/** The command that shows this help. */
export function helpCommand(command: CommandName | undefined): string {
  return command !== undefined && COMMANDS[command] !== undefined ? `meanwhile ${command} --help` : 'meanwhile --help';
}
