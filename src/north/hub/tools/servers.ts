import * as z from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import type { Connection, ConnectionStatus, ServerInfo } from '../../../core/ports/connection.ts';
import type { ServerConfig } from '../../../core/ports/server-config.ts';
import type { KnownServer } from '../../../core/session/registry.ts';
import type { Session } from '../../../core/session/session.ts';
import { isoTime } from '../../../lib/clock.ts';
import { redactUrl } from '../../../lib/redact.ts';
import { NAME_PATTERN, NAME_RULES } from '../../../lib/server-name.ts';
import { ownQuestions } from '../visible.ts';
import { json, READS, tool } from '../tool.ts';
import { elicitationBrief, workingTask } from '../views.ts';
import { serverName } from './arguments.ts';
import { eraName } from '../../../lib/protocol.ts';

const strings = z.record(z.string(), z.string());

const newName = (): z.ZodString =>
  NAME_RULES.reduce(
    (schema, [isRight, otherwise]) => schema.refine(isRight, otherwise),
    z.string().meta({ pattern: NAME_PATTERN.source }),
  );

export const serverTools = [
  tool({
    name: 'add_server',
    description: 'Add an MCP server, or replace one of the same name, in all your sessions. Set url or command.',
    input: () =>
      z.object({
        name: newName(),
        url: z.url({ protocol: /^https?$/, error: 'expected a URL starting with http:// or https://' }).optional(),
        headers: strings.optional(),
        command: z.string().min(1).optional(),
        args: z.array(z.string()).optional(),
        env: strings.optional(),
        cwd: z.string().optional(),
      }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    showsServers: true,
    run: async ({ name, ...fields }, { session, gateway, mayRunCommands }) => {
      const config = toConfig(fields);
      if ('command' in config && !mayRunCommands) {
        throw new GatewayError(
          'TOOL_ERR_NOT_ALLOWED',
          'clients cannot add servers by command over HTTP; the operator can set allowCommands, or add the server to the config file',
        );
      }
      const { info, tools } = await gateway.servers.add(session, name, config);
      return json({
        name,
        capabilities: info.capabilities,
        ...(info.instructions !== undefined && { instructions: info.instructions }),
        tools: tools.map(({ name: toolName, description }) => ({ name: toolName, description })),
      });
    },
  }),
  tool({
    name: 'remove_server',
    description: 'Remove a server from all your sessions. Its running calls fail.',
    input: () => z.object({ name: serverName }),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    run: async ({ name }, { gateway, session }) => {
      await gateway.servers.remove(session, name);
      return json({ success: true, message: `server '${name}' was removed` });
    },
  }),
  tool({
    name: 'list_servers',
    description: 'List servers with connection status and capabilities.',
    input: () => z.object({}),
    annotations: READS,
    showsServers: true,
    run: async (_args, { session }) =>
      json({ servers: session.servers.list().map((server) => serverView(session, server)) }),
  }),
  tool({
    name: 'get_server_status',
    description: 'Show one server: connection, capabilities, running tasks, pending requests.',
    input: () => z.object({ server: serverName }),
    annotations: READS,
    showsServers: true,
    run: async ({ server }, context) => {
      const { session } = context;
      const known = session.servers.require(server);
      const connection = session.connections.find(server);
      return json({
        ...serverView(session, known),
        ...infoView(connection),
        working_tasks: session.tasks
          .atWork(server)
          .filter(({ tool: name }) => session.mayCall(server, name))
          .map(workingTask),
        elicitations: ownQuestions(context, 'elicitation', server).map(elicitationBrief),
        sampling_requests: ownQuestions(context, 'sampling', server).map(({ id }) => ({ requestId: id, server })),
      });
    },
  }),
];

function toConfig(fields: {
  url?: string | undefined;
  headers?: Record<string, string> | undefined;
  command?: string | undefined;
  args?: string[] | undefined;
  env?: Record<string, string> | undefined;
  cwd?: string | undefined;
}): ServerConfig {
  const { url, headers, command, args, env, cwd } = fields;
  if (url !== undefined && command === undefined) return { url, ...(headers && { headers }) };
  if (command !== undefined && url === undefined) {
    return { command, ...(args && { args }), ...(env && { env }), ...(cwd !== undefined && { cwd }) };
  }
  throw new GatewayError('TOOL_ERR_INVALID_ARGUMENT', 'set either url or command');
}

/** Headers, environment and arguments may hold secrets and are not shown. */
function serverView(session: Session, { name, config }: KnownServer): Record<string, unknown> {
  const status: ConnectionStatus = session.connections.find(name)?.status ?? { state: 'idle' };
  const target = 'url' in config ? { url: redactUrl(config.url) } : { command: config.command };
  return { name, ...target, connected: status.state === 'connected', ...statusView(status), ...offerView(status) };
}

function statusView(status: ConnectionStatus): Record<string, unknown> {
  switch (status.state) {
    case 'idle':
      return { status: 'not_connected', note: 'connects on first use' };
    case 'connecting':
      return { status: 'connecting' };
    case 'connected':
      return { status: 'connected', connectedAt: isoTime(status.since) };
    case 'waiting':
      return {
        status: 'disconnected',
        lastError: status.error,
        attempt: status.attempt,
        nextAttemptAt: isoTime(status.retryAt),
      };
    case 'failed':
      return { status: 'error', lastError: status.error };
    case 'closed':
      return { status: 'disconnected' };
  }
}

/** The protocol and capabilities of the server, in short. */
function offerView(status: ConnectionStatus): Record<string, unknown> {
  if (status.state !== 'connected') return {};
  const { traits, capabilities, tasks } = status.info;
  return { era: eraName(traits), capabilities: Object.keys(capabilities), tasks: tasks?.generation ?? 'none' };
}

/** Only name, version and title of `serverInfo`. */
function named({ name, version, title }: NonNullable<ServerInfo['implementation']>): Record<string, unknown> {
  return { name, version, ...(title !== undefined && { title }) };
}

function infoView(connection: Connection | undefined): Record<string, unknown> {
  if (connection?.status.state !== 'connected') return {};
  const { protocolVersion, capabilities, tasks, implementation, instructions } = connection.status.info;
  return {
    protocolVersion,
    capabilities,
    tasks: tasks ?? 'none',
    ...(implementation && { implementation: named(implementation) }),
    ...(instructions !== undefined && { instructions }),
  };
}
