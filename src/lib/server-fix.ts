/** What to do about a server that cannot be used. */

import { asProgramAndArguments, programIn } from './command-line.ts';

type Server =
  | { url: string; headers?: Record<string, string> | undefined }
  | { command: string; args?: string[] | undefined; cwd?: string | undefined };

/** Where headers are written: what helps at one place is not known at the other. */
type Place = 'command line' | 'configuration';

type Fix = (server: Server, place: Place) => string;

const PATH = 'the path of the URL may be wrong: many servers are at /mcp';

/** What the reason says, and what helps against it; the first that fits. */
const FIXES: readonly (readonly [pattern: RegExp, fix: Fix])[] = [
  [/ECONNREFUSED/, () => 'nothing listens there: start the server, or correct host and port of the URL'],
  [/ENOTFOUND|EAI_AGAIN/, () => 'there is no such host: correct the URL'],
  [/EHOSTUNREACH|ENETUNREACH|ETIMEDOUT/, () => 'the host does not answer: check the network and the URL'],
  [
    /CERT|certificate|self.signed|UNABLE_TO_VERIFY/i,
    () => 'its certificate is not trusted: mend it, or add its authority with NODE_EXTRA_CA_CERTS',
  ],
  [/EPROTO|wrong version number|SSL|TLS/i, () => 'it does not speak TLS there: is it http:// instead of https:// ?'],
  [/^HTTP 40[13]\b|\(HTTP 40[13]\)/, whoAsks],
  [/^HTTP 40[45]\b/, () => PATH],
  [/^the folder '/, () => 'create the folder, or correct "cwd"'],
  [/^command '[^]*' was not found|ENOENT/, notFound],
  [/EACCES/, () => 'the file may not be run: make it executable (chmod +x)'],
  [
    /process exited|was killed/,
    () => 'it ended instead of serving: run the command by hand to see why; a variable it needs may be missing in env',
  ],
  [
    /printed on standard output/,
    () => 'it writes something else than messages to standard output: its logs belong on standard error',
  ],
  [
    /timed? ?out|took longer|no (?:MCP )?answer/i,
    (server) =>
      'url' in server
        ? 'something is there but does not answer as an MCP server: is the URL right?'
        : 'it started but does not answer: is it an MCP server that speaks over stdio?',
  ],
];

/** A gateway tells of a server behind it, which is none of ours to mend. */
const OF_ANOTHER = /^server '[^']*' cannot be reached: /;

export function fixFor(reason: string, server: Server, place: Place): string | undefined {
  if (OF_ANOTHER.test(reason)) return undefined;
  return FIXES.find(([pattern]) => pattern.test(reason))?.[1](server, place);
}

function whoAsks(server: Server, place: Place): string {
  const given = 'url' in server ? Object.keys(server.headers ?? {}) : [];
  const credentials = given.filter((name) => /auth|key|token|cookie|secret/i.test(name));
  if (credentials.length > 0) {
    return `the header ${credentials.join(', ')} was not accepted: is its value right, and still valid?`;
  }
  const how =
    place === 'command line'
      ? "as in --header 'Authorization: Bearer …'"
      : 'as in "headers": { "Authorization": "Bearer …" }';
  return `it wants to know who asks: give it a header, ${how}`;
}

/** A whole command line in place of the program is what people write most often. */
function notFound(server: Server): string {
  const command = 'command' in server ? server.command : '';
  const program = programIn(command);
  // A path may have a space.
  if (program === undefined || program.includes('/')) return 'is the program installed, and on the PATH?';
  return `only the program goes into "command": ${asProgramAndArguments(command)}`;
}
