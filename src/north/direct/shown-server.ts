import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { AmendedServer } from '../../lib/sdk/amended-server.ts';
import { isObject } from '../../lib/values.ts';
import type { Face } from './view.ts';

/** The version of the protocol that has tasks, and those after it up to the new era. */
export const TASKS_SINCE = '2025-11-25';

/** A protocol object that introduces itself with all that the server behind it says of itself. */
export class ShownServer extends AmendedServer {
  readonly #more: Record<string, unknown>;

  constructor({ implementation, capabilities, instructions, more }: Face, versions = SUPPORTED_PROTOCOL_VERSIONS) {
    super(implementation, {
      capabilities,
      supportedProtocolVersions: versions,
      ...(instructions !== undefined && { instructions }),
    });
    this.#more = more;
  }

  protected override amend(introduction: Record<string, unknown>): Record<string, unknown> {
    return asOfItsVersion({ ...this.#more, ...introduction });
  }
}

/** An older version of the protocol, which the client may insist on, has no tasks. */
function asOfItsVersion(introduction: Record<string, unknown>): Record<string, unknown> {
  const { protocolVersion, capabilities } = introduction;
  if (typeof protocolVersion !== 'string' || protocolVersion >= TASKS_SINCE || !isObject(capabilities))
    return introduction;
  const { tasks: _tasks, ...others } = capabilities;
  return { ...introduction, capabilities: others };
}
