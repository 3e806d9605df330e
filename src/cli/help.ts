import { VERSION } from '../lib/version.ts';
import type { CommandName } from './flags.ts';

const CONFIG_FLAG = `  --config FILE      MEANWHILE_CONFIG     servers and settings`;

const HTTP_FLAGS = `  --port N           MEANWHILE_PORT       port for serve; 0 = any free one
  --host NAME        MEANWHILE_HOST       address for serve`;

const STORE_FLAGS = `  --store PATH       MEANWHILE_STORE      where tasks are kept, or :memory:
  --log-level LEVEL  MEANWHILE_LOG_LEVEL  debug, info, warn, error, silent`;

const GENERAL = `meanwhile ${VERSION}: an MCP gateway in which slow calls become tasks and questions find an answer

Usage: meanwhile [command] [flags]

The gateway; each has its own --help
  stdio     be an MCP server on standard input and output (the default); with --server NAME be that server
  serve     be an MCP server at http://127.0.0.1:8080/mcp, and each server at /mcp/NAME
  demo      play the story: a call that becomes a task, a question, an answer, a result
  store     show, prune or export what the gateway keeps

Flags of the gateway, each also as an environment variable and in the config file
${CONFIG_FLAG}
${HTTP_FLAGS}
${STORE_FLAGS}
  --server NAME                           for stdio: be this one server, as it is

A client for any MCP server; each has its own --help
  call       <server> <tool> [key=value …]      call a tool and wait for its result
  tools      <server> [tool …]                  list the tools, or show some
  resources  <server> [uri …]                   list the resources, or read some
  prompts    <server> [name [key=value …]]      list the prompts, or get one
  tasks      list|get|result|cancel|watch <server> [task id]
  doctor     [server …]                         examine the servers of the config file, or these

--help, --version; help [command], version
`;

const STDIO = `Usage: meanwhile [stdio] [flags]

Is an MCP server on standard input and output: what a client starts. It has the tools of the hub, or with --server NAME it is
that one server of the config file. It ends with its input.

Flags, also as environment variables and in the config file
${CONFIG_FLAG}
  --server NAME                           be this one server, as it is
${STORE_FLAGS}
`;

const SERVE = `Usage: meanwhile serve [flags]

Is an MCP server over HTTP until it is stopped: the hub at http://127.0.0.1:8080/mcp, and each server of the config file as it
is at /mcp/NAME.

Flags, also as environment variables and in the config file
${CONFIG_FLAG}
${HTTP_FLAGS}
${STORE_FLAGS}
`;

const DEMO = `Usage: meanwhile demo [--log-level LEVEL]

Plays a story with a gateway and a server of its own: a call that becomes a task, a question, an answer, a result. At its end
it prints what to put into the .mcp.json of a client.
`;

const SERVERS = `
<server> is one of
  a name in the config file   --config FILE or MEANWHILE_CONFIG; without one there is 'demo'
  a URL                       https://example.org/mcp, with --header 'Name: value' as often as needed
  a command in quotes         "npx -y some-server --flag", "KEY=value node server.js", some-server
`;

const CLIENT_FLAGS = `
  --config FILE        where the server's name is looked up
  --header 'N: value'  a header for a server with a URL; can be repeated
  --session ID         go on with a session at a server with a URL
  --timeout TIME       give up after 500ms, 30s, 5m, 1h; a number alone is seconds; without it there is no limit
  --json               exactly one JSON document on standard output; errors as {"error":{"code","message"}}`;

const OUT_FLAG = `
  --out DIR            write images, audio and other data to files there`;

const ANSWER_FLAG = `
  --answer JSON        the answer to the next question; can be repeated. The fields of the form, as in '{"name":"Ada"}',
                       or '{"action":"decline"}', or '{"action":"cancel"}'; '{"text":"…"}' where a model is asked.
                       One that does not fit is told, and without a terminal the exit code is 2`;

const EXIT_CODES = `
Exit codes
  0  there is a result                          4  cancelled, by the server or by you
  1  failed: an error of the server,            5  time ran out (--timeout)
     out of reach, lost                       130  interrupted, or left running
  2  wrong usage or configuration               6  a question was left unanswered
  3  the tool itself reports an error
`;

const CALL = `Usage: meanwhile call <server> <tool> [key=value …] [key:=json …] [flags]

Calls a tool and prints its result. Values are read in the types that the tool asks for: numbers, true or false, lists and
objects as JSON; a key given several times makes a list. key:=json is taken as it is.

On a terminal it shows how far the call is, and asks you what the server asks. Ctrl-C asks whether to cancel the call, to
leave it running where the server keeps it as a task, or to go on. Without a terminal nobody is asked: see --answer.
${SERVERS}
Flags
  --args JSON|@file|-  all arguments as one JSON object, from a file, or from standard input${ANSWER_FLAG}${OUT_FLAG}${CLIENT_FLAGS}
${EXIT_CODES}`;

const TOOLS = `Usage: meanwhile tools <server> [tool …] [flags]

Lists the tools of a server, or shows some in full: how to call them, and their schemas. 'task' marks a tool that only runs as
a task, 'task?' one that can.
${SERVERS}
Flags${CLIENT_FLAGS}
${EXIT_CODES}`;

const RESOURCES = `Usage: meanwhile resources <server> [uri …] [flags]

Lists the resources of a server, and the templates of resources, marked 'template'; or reads some.
${SERVERS}
Flags${OUT_FLAG}${CLIENT_FLAGS}
${EXIT_CODES}`;

const PROMPTS = `Usage: meanwhile prompts <server> [name [key=value …]] [flags]

Lists the prompts of a server, or gets one, filled in.
${SERVERS}
Flags${OUT_FLAG}${CLIENT_FLAGS}
${EXIT_CODES}`;

const TASKS = `Usage: meanwhile tasks list|get|result|cancel|watch <server> [task id] [flags]

The tasks that a server keeps.
  list <server>              those it tells us of
  get <server> <task id>     how one is doing
  result <server> <task id>  waits for its end and prints its result; asks what it asks
  watch <server> <task id>   the same, and tells of each change on the way
  cancel <server> <task id>  stops it

Ctrl-C at result and watch asks whether to stop waiting, which the task does not notice, or to cancel it.

A server of the older protocol may keep tasks by session: --session ID is the one the task was made in.
${SERVERS}
Flags${ANSWER_FLAG}${OUT_FLAG}${CLIENT_FLAGS}
${EXIT_CODES}`;

const DOCTOR = `Usage: meanwhile doctor [server …] [flags]

Connects to each server of the config file, or to those given, and prints what it is and can do, and what is wrong, with a
fix; each as soon as it is known. The exit code is 1 if anything is wrong. A server that the file disables is only named.
${SERVERS}
Flags
  --config FILE        where servers are looked up
  --header 'N: value'  a header for a server with a URL; can be repeated
  --timeout TIME       give up on a server after 500ms, 30s, 5m; a number alone is seconds; 15s without it
  --json               one JSON document on standard output
`;

const STORE = `Usage: meanwhile store [show|prune|export] [flags]

What the gateway keeps on disk.
  show    the file, its size, who is using it, and how much of what is in it (the default)
  prune   removes ended tasks whose time is over, and sessions that were idle for longer than sessions.idleMs and have no
          unfinished task, with all that is theirs; then makes the file smaller. Refused while a gateway is using the store
  export  all records as JSON lines on standard output: {"kind":"session|server|task|question|event","record":{…}}. Tasks
          with their arguments and results, sessions with their ids; secrets of added servers are hidden. While a gateway
          is using the store, each record is as it is when it is read

The store is the one that serve would use. show and export change nothing, and may be used while a gateway is running.

Flags
  --config FILE      MEANWHILE_CONFIG  where the store may be named
  --store PATH       MEANWHILE_STORE   the store itself
  --stdio            the store that stdio would use here: each folder or config file has one of its own
  --json             exactly one JSON document on standard output; errors as {"error":{"code","message"}}.
                     export prints one a line, with or without it
  --older-than TIME  prune: also ended tasks that ended longer ago, whatever their time; 12h, 7d
  --with-secrets     export: with headers, environment, arguments and credentials in URLs of added servers

Exit codes
  0  done
  1  failed: no such store, in use, damaged, written by a newer version
  2  wrong usage or configuration
`;

const HELP: Partial<Record<CommandName, string>> = {
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

/** The help of one command, or of the program. */
export function helpFor(command: CommandName | undefined): string {
  return (command && HELP[command]) ?? GENERAL + EXIT_CODES;
}

/** How to get the help that says more. */
export function helpCommand(command: CommandName | undefined): string {
  return command !== undefined && HELP[command] !== undefined ? `meanwhile ${command} --help` : 'meanwhile --help';
}
