/** What to do about a server that cannot be used. */

import { asProgramAndArguments, programIn } from './command-line.ts';
import type { ServerFailureKind } from './server-failure.ts';

type Server =
  | { url: string; headers?: Record<string, string> | undefined }
  | { command: string; args?: string[] | undefined; cwd?: string | undefined };

/** Where the reader writes headers. */
type Place = 'command line' | 'configuration';

type Fix = (server: Server, place: Place) => string;

const FIXES: Partial<Record<ServerFailureKind, Fix>> = {
  refused: () => 'no program listens there: start the server, or correct the host and port of the URL',
  dns: () => 'there is no such host: correct the URL',
  no_route: () => 'the host does not answer: check the network and the URL',
  tls_untrusted: () => 'its certificate is not trusted: replace it, or add its authority with NODE_EXTRA_CA_CERTS',
  tls: () => 'the server does not speak TLS at this address: try http:// instead of https://',
  auth: whoAsks,
  wrong_path: () => 'the path of the URL may be wrong: many servers are at /mcp',
  folder_missing: () => 'create the folder, or correct "cwd"',
  command_missing: notFound,
  not_executable: () => 'the file is not executable: run chmod +x on it',
  exited: () => 'run the command by hand to see why it exits; a variable that it needs may be missing in env',
  stray_output: () => 'it writes text other than messages to standard output: make it log to standard error',
  timeout: (server) =>
    'url' in server
      ? 'the host answers, but not as an MCP server: check the URL'
      : 'the program started but does not answer: check that it is an MCP server for stdio',
};

/** Advice for a failure, where there is any beyond its message. */
export function fixFor(failure: ServerFailureKind | undefined, server: Server, place: Place): string | undefined {
  return failure && FIXES[failure]?.(server, place);
}

function whoAsks(server: Server, place: Place): string {
  const given = 'url' in server ? Object.keys(server.headers ?? {}) : [];
  const credentials = given.filter((name) => /auth|key|token|cookie|secret/i.test(name));
  if (credentials.length > 0) {
    return `the header ${credentials.join(', ')} was not accepted: check that its value is right and still valid`;
  }
  const how =
    place === 'command line'
      ? "as in --header 'Authorization: Bearer …'"
      : 'as in "headers": { "Authorization": "Bearer …" }';
  return `add a header with your credentials, ${how}`;
}

/** The most common mistake is a whole command line instead of the program. */
function notFound(server: Server): string {
  const command = 'command' in server ? server.command : '';
  const program = programIn(command);
  // A path may have a space.
  if (program === undefined || program.includes('/')) return 'check that the program is installed and on the PATH';
  return `only the program goes into "command": ${asProgramAndArguments(command)}`;
}
