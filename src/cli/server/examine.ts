/** Examines a server: whether it can be reached, what it offers, and what is wrong with it. */

import { TaskClientError } from '../../client/task-client-error.ts';
import type { TaskClient } from '../../client/task-client.ts';
import type { ServerInfo } from '../../core/ports/connection.ts';
import type { ServerConfig } from '../../core/ports/server-config.ts';
import { selection } from '../../lib/pattern.ts';
import { redactUrl } from '../../lib/redact.ts';
import { fixFor } from '../../lib/server-fix.ts';
import { within } from '../../lib/timers.ts';
import { cleanLine } from '../../lib/clean.ts';
import { isTool } from './session.ts';
import { ServerOutput } from './output.ts';
import { troubleWith } from './trouble.ts';

export interface Problem {
  problem: string;
  fix?: string;
  /** The last lines of its standard error, where they may explain the problem. */
  output?: string[];
}

export interface Findings {
  info?: ServerInfo;
  tools?: number;
  roundTripMs?: number;
  problems: Problem[];
}

/** The time limit for the whole examination. */
export interface Limit {
  ms: number;
  /** As the person wrote it. */
  text: string;
}

/** After the time limit it returns what is known, with the request that got no reply. */
export async function examine(client: TaskClient, config: ServerConfig, limit: Limit): Promise<Findings> {
  const findings: Findings = { problems: [] };
  const printed = new ServerOutput(client);
  const deadline = Date.now() + limit.ms;
  const report = ({ problem, fix }: Problem, output: readonly string[]): void => {
    findings.problems.push({
      problem,
      ...(fix !== undefined && { fix }),
      ...(output.length > 0 && { output: [...output] }),
    });
  };
  const attempt = async <T extends object | number>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    const left = deadline - Date.now();
    // The timeout is reported already.
    if (left <= 0) return undefined;
    try {
      const done = await within(left, work());
      if (done === undefined) report(late(what, findings.info !== undefined, config, limit), printed.lastLines());
      return done;
    } catch (error) {
      const { reason, fix } = troubleWith(error, config);
      const problem = `${what}: ${reason}`;
      report({ problem, ...(fix !== undefined && { fix }) }, isGone(error) ? printed.lastLines(problem) : []);
      return undefined;
    }
  };
  const place = 'url' in config ? `${redactUrl(config.url)} ` : '';
  const info = await attempt(`${place}cannot be reached`, async () => client.connect());
  if (info === undefined) return findings;
  findings.info = info;
  const has = (capability: string): boolean => info.capabilities[capability] !== undefined;
  const roundTripMs = await attempt('does not respond to a ping', async () => client.ping());
  if (roundTripMs !== undefined) findings.roundTripMs = roundTripMs;
  const tools = has('tools') ? await attempt('its tools cannot be listed', async () => client.listTools()) : [];
  if (tools !== undefined) {
    const { selects, unmatched } = selection(config);
    const shown = tools.filter((tool) => !isTool(tool) || selects(tool.name));
    findings.tools = shown.length;
    const unused = unmatched(tools.filter(isTool).map(({ name }) => name));
    findings.problems.push(...toolProblems(shown, info), ...unused.map(patternProblem));
  }
  for (const list of ['resources', 'prompts'].filter(has)) {
    await attempt(`its ${list} cannot be listed`, async () => client.listAll(`${list}/list`, list));
  }
  if (printed.stray !== undefined) findings.problems.push(strayProblem(printed.stray));
  return findings;
}

/** Whether the connection failed, as opposed to an error reply. */
const isGone = (error: unknown): boolean =>
  error instanceof TaskClientError && (error.kind === 'unreachable' || error.kind === 'lost');

function strayProblem({ first, more }: NonNullable<ServerOutput['stray']>): Problem {
  const others = more === 0 ? '' : ` and ${more} more ${more === 1 ? 'line' : 'lines'}`;
  return {
    problem: `it writes text to standard output, which is reserved for messages: ${JSON.stringify(first)}${others}`,
    fix: 'make the server log to standard error: many clients report such lines as errors or disconnect',
  };
}

function patternProblem(pattern: string): Problem {
  return {
    problem: `the pattern '${pattern}' of its include or exclude matches none of its tools`,
    fix: 'correct the pattern in the config file, or remove it',
  };
}

function late(what: string, reached: boolean, config: ServerConfig, { text }: Limit): Problem {
  const more = 'if it only needs more time, use a longer --timeout';
  if (reached) return { problem: `${what}: no response within ${text}`, fix: more };
  const problem = `no MCP response within ${text}`;
  return { problem, fix: `${fixFor('timeout', config, 'command line')}; ${more}` };
}

export function toolProblems(listed: readonly unknown[], { tasks }: Pick<ServerInfo, 'tasks'>): Problem[] {
  const tools = listed.filter(isTool);
  const names = tools.map(({ name }) => cleanLine(name));
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  const shapeless = tools.filter(({ inputSchema }) => inputSchema?.['type'] !== 'object');
  const stranded = tasks === undefined ? tools.filter(({ execution }) => execution?.taskSupport === 'required') : [];
  const nameless = listed.length - tools.length;
  return [
    ...(nameless === 0 ? [] : [{ problem: `${nameless} of its tools have no name`, fix: 'give each tool a name' }]),
    ...[...twice].map((name) => ({
      problem: `there are several tools named '${name}'`,
      fix: 'give each tool a unique name',
    })),
    ...shapeless.map(({ name }) => ({
      problem: `the input schema of '${cleanLine(name)}' is not of the type object`,
      fix: 'clients reject such tools; use {"type": "object"} for a tool without arguments',
    })),
    ...stranded.map(({ name }) => ({
      problem: `'${cleanLine(name)}' only runs as a task, but the server offers no tasks`,
      fix: 'make the server declare capabilities.tasks.requests.tools.call',
    })),
  ];
}
