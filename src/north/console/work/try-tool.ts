/** Runs tools in a person's console session. */

import { GatewayError } from '../../../core/errors.ts';
import type { Gateway } from '../../../core/gateway.ts';
import { CONSOLE_STATE, HUB_VIEW } from '../../../core/session/kind.ts';
import type { Session } from '../../../core/session/session.ts';
import { secretId } from '../../../lib/ids.ts';
import { messageOf } from '../../../lib/log.ts';
import { failureKindOf } from '../../../lib/server-failure.ts';
import { withinLimits } from '../../carrier.ts';
import { whenStored } from '../../commit-gate.ts';
import { withFix } from '../../hub/with-fix.ts';
import type { Person } from '../person.ts';
import type { ConnectWork, TryWork } from './work.ts';

/** Throws if another gateway owns the states of the principal. */
export async function consoleSession(gateway: Gateway, { principal, facts }: Person): Promise<Session> {
  const session = await gateway.stateOf({ principal, view: HUB_VIEW, name: CONSOLE_STATE, facts });
  gateway.identify({ principal, facts });
  session.presence.touch();
  // The page gets all changes through the console stream; nothing else reads these events.
  session.events.take().settle(true);
  return session;
}

export async function connectHere(gateway: Gateway, person: Person, { server }: ConnectWork): Promise<void> {
  const { config } = gateway.serversFor(person).require(server);
  const session = await consoleSession(gateway, person);
  const leave = session.access?.begin(person.facts);
  try {
    await withinLimits(session, undefined, async () => {
      await session.connection(server).ready();
      await session.catalog(server).list('tools');
    });
  } catch (error) {
    throw withFix(asGatewayError(error), config);
  } finally {
    leave?.();
  }
}

/** Starts the call, as a task, and does not wait for it. Returns its id. */
export async function tryHere(gateway: Gateway, person: Person, work: TryWork): Promise<{ callId: string }> {
  const { server, tool, arguments: args } = work;
  gateway.serversFor(person).require(server);
  const session = await consoleSession(gateway, person);
  const id = secretId();
  const leave = session.access?.begin(person.facts);
  await withinLimits(session, args, async () => {
    if (!session.mayCall(server, tool)) throw noTool(server, tool);
    // A task from the start: it survives a restart, and its questions are certainly its own.
    const { maxTtlMs: ttlMs } = gateway.settings.tasks;
    const request = { id, server, tool, args, timeoutMs: Infinity, asTask: true, ttlMs };
    await session.calls.execute(session.connection(server), request, {
      onLeaving: () => () => {},
      onProgress: () => {},
    });
  }).finally(() => leave?.());
  await whenStored([session]);
  await gateway.recorder?.flush();
  return { callId: id };
}

function noTool(server: string, tool: string): GatewayError {
  return new GatewayError('TOOL_ERR_NOT_FOUND', `server '${server}' has no tool '${tool}'`);
}

/** Server and connection failures are not internal errors of the gateway. */
function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  const failure = failureKindOf(error);
  const code = failure === undefined ? 'TOOL_ERR_EXECUTION_FAILED' : 'TOOL_ERR_SERVER_UNREACHABLE';
  return new GatewayError(code, messageOf(error), undefined, failure);
}
