import { within } from '../../lib/timers.ts';
import { configFor } from '../config.ts';
import { RESULT } from '../failure.ts';
import { UsageError, type CommandLine } from '../flags.ts';
import { examine, type Findings } from '../server/examine.ts';
import { findServer, type FoundServer } from '../server/find-server.ts';
import { labelOf } from '../server/label.ts';
import type { Stop } from '../stop.ts';
import { clean, cleanLine } from '../terminal/clean.ts';
import { Screen } from '../terminal/screen.ts';
import { newClient, openStop } from '../visit.ts';

const SOMETHING_WRONG = 1;

interface Diagnosis extends Findings {
  server: string;
  kind: 'http' | 'command';
}

/** All servers side by side, so that one that does not answer keeps nobody waiting longer than itself. */
export async function doctor(line: CommandLine): Promise<number> {
  const stop = openStop(line.flags);
  const screen = new Screen(line.flags);
  const servers = await serversFor(line);
  screen.live?.show(
    servers.length === 1 ? `examining ${servers.map(labelOf).join()}` : `examining ${servers.length} servers`,
  );
  try {
    const diagnoses = await Promise.all(servers.map(async (server) => diagnose(server, line, stop)));
    screen.live?.hide();
    if (screen.json) screen.printJson({ servers: diagnoses.map(asJson) });
    else screen.printOwn(diagnoses.map((each) => describe(each, screen)).join('\n'));
    return diagnoses.every(isWell) ? RESULT : SOMETHING_WRONG;
  } finally {
    screen.live?.hide();
    stop.close();
  }
}

async function serversFor(line: CommandLine): Promise<FoundServer[]> {
  const { operands, flags } = line;
  const find = async (name: string): Promise<FoundServer> =>
    findServer(name, flags.header ?? [], async () => configFor(line));
  if (operands.length > 0) return Promise.all(operands.map(find));
  const { servers, settings, file } = await configFor(line);
  if (servers.size === 0) throw new UsageError(`there are no servers in ${file ?? 'the config file'}`);
  if (flags.header !== undefined) throw new UsageError('--header needs a server to send it to');
  const { connectTimeoutMs } = settings.servers;
  return [...servers].map(([name, config]) => ({ name, config, connectTimeoutMs }));
}

async function diagnose(server: FoundServer, { flags }: CommandLine, stop: Stop): Promise<Diagnosis> {
  const client = newClient(server, flags);
  const limitMs = (server.connectTimeoutMs ?? 30_000) * 2;
  try {
    const late: Findings = { problems: [{ problem: `did not answer everything within ${limitMs / 1000} s` }] };
    const findings = (await stop.unless(within(limitMs, examine(client, server.config)))) ?? late;
    return { server: labelOf(server), kind: 'url' in server.config ? 'http' : 'command', ...findings };
  } finally {
    await client.disconnect();
  }
}

const isWell = ({ problems }: Findings): boolean => problems.length === 0;

function asJson(diagnosis: Diagnosis): Record<string, unknown> {
  const { server, kind, info, tools, roundTripMs, problems } = diagnosis;
  return {
    server,
    kind,
    ok: isWell(diagnosis),
    ...info,
    ...(tools !== undefined && { tools }),
    ...(roundTripMs !== undefined && { roundTripMs: Math.round(roundTripMs * 10) / 10 }),
    // Under a name of its own: `tasks` of the information would otherwise be missing where there are none.
    tasks: info?.tasks ?? null,
    problems,
  };
}

function describe(diagnosis: Diagnosis, { style }: Screen): string {
  const { server, kind, info, tools, roundTripMs, problems } = diagnosis;
  const mark = isWell(diagnosis) ? style.good('✓') : style.bad('✗');
  const facts = info && [
    `${kind}, protocol ${cleanLine(info.protocolVersion)} (${info.era})`,
    ...(info.implementation
      ? [`${cleanLine(info.implementation.name)} ${cleanLine(info.implementation.version)}`]
      : []),
    ...(tools === undefined ? [] : [tools === 1 ? '1 tool' : `${tools} tools`]),
    describeTasks(info.tasks),
    ...(roundTripMs === undefined ? [] : [`round trip ${roundTripMs.toFixed(1)} ms`]),
  ];
  const capabilities = Object.keys(info?.capabilities ?? {}).map(cleanLine);
  return [
    `${mark} ${style.strong(server)}${facts ? `  ${facts.join(', ')}` : ''}`,
    ...(info ? [style.faint(`  capabilities: ${capabilities.join(', ') || 'none'}`)] : []),
    ...problems.flatMap(({ problem, fix }) => [
      `  ${style.bad('problem:')} ${clean(problem)}`,
      ...(fix === undefined ? [] : [`  ${style.warning('fix:')} ${fix}`]),
    ]),
  ].join('\n');
}

function describeTasks(tasks: NonNullable<Findings['info']>['tasks']): string {
  if (tasks === undefined) return 'no tasks';
  const can = [...(tasks.list ? ['list'] : []), ...(tasks.cancel ? ['cancel'] : [])];
  return `tasks (${[cleanLine(tasks.generation), ...can].join(', ')})`;
}
