/** What to do about a server that cannot be used. */

import type { ServerConfig } from '../../core/ports.ts';

type Fix = (config: ServerConfig) => string;

const isHttp = (config: ServerConfig): boolean => 'url' in config;

/** What the reason says, and what helps against it; the first that fits. */
const FIXES: readonly (readonly [pattern: RegExp, fix: Fix])[] = [
  [/ECONNREFUSED/, () => 'nothing listens there: start the server, or correct host and port of the URL'],
  [/ENOTFOUND|EAI_AGAIN/, () => 'there is no such host: correct the URL'],
  [/EHOSTUNREACH|ENETUNREACH|ETIMEDOUT/, () => 'the host does not answer: check the network and the URL'],
  [
    /CERT|certificate|self.signed/i,
    () => 'its certificate is not trusted: mend it, or add its authority with NODE_EXTRA_CA_CERTS',
  ],
  [/EPROTO|wrong version number|SSL|TLS/i, () => 'it does not speak TLS there: is it http:// instead of https:// ?'],
  [
    /\b(?:401|403)\b|unauthori[sz]ed|forbidden/i,
    () => "it wants to know who asks: give it a header, as in --header 'Authorization: Bearer …'",
  ],
  [
    /\b404\b|not found/i,
    (config) => (isHttp(config) ? 'the path of the URL may be wrong: many servers are at /mcp' : notFound()),
  ],
  [/\b405\b/, () => 'the path of the URL may be wrong: many servers are at /mcp'],
  [/was not found|ENOENT/, () => notFound()],
  [/EACCES/, () => 'the file may not be run: make it executable (chmod +x)'],
  [
    /process exited|was killed/,
    () => 'it ended instead of serving: run the command by hand to see why; a variable it needs may be missing in env',
  ],
  [
    /what is no message/,
    () => 'it writes something else than messages to standard output: its logs belong on standard error',
  ],
  [
    /timed? ?out|took longer|no (?:MCP )?answer/i,
    (config) =>
      isHttp(config)
        ? 'something is there but does not answer as an MCP server: is the URL right?'
        : 'it started but does not answer: is it an MCP server that speaks over stdio?',
  ],
];

function notFound(): string {
  return 'is the program installed, and on the PATH?';
}

/** The reason without what only says that there is one. */
export function plainReason(reason: string): string {
  return reason.replace(/^Version negotiation probe failed: /, '').replace(/^cannot reach \S+: /, '');
}

export function fixFor(reason: string, config: ServerConfig): string | undefined {
  return FIXES.find(([pattern]) => pattern.test(reason))?.[1](config);
}
