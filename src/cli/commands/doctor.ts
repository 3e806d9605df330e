import { basename } from 'node:path';
import { configFor, configHint, type ProgramConfig } from '../config.ts';
import { accountFor } from '../account/command-account.ts';
import { parseDuration } from '../units.ts';
import { EXIT_CODES, RESULT } from '../failure.ts';
import { UsageError, type CommandLine, type Flags } from '../flags.ts';
import { examine, type Findings, type Limit } from '../server/examine.ts';
import { configuredServer, findServer, type FoundServer } from '../server/find-server.ts';
import { serverLabel } from '../server/label.ts';
import { linkedClients, linkFix, type LinkedClient } from '../link/linked.ts';
import type { ClientName } from '../link/names.ts';
import { Stop } from '../stop.ts';
import { clean, cleanLine } from '../../lib/clean.ts';
import { Screen } from '../terminal/screen.ts';
import { wrap } from '../terminal/layout.ts';
import type { IssuerProblem } from '../../main.ts';
import { newClient, declineAll } from '../server/session.ts';
import { eraName } from '../../lib/protocol.ts';

const SOMETHING_WRONG = 1;
const DEFAULT_LIMIT = '15s';

interface Diagnosis extends Findings {
  server: string;
  kind: 'http' | 'command';
  linkedIn?: ClientName;
}

/** An authorization server of the config file, and what is wrong with it. */
interface IssuerDiagnosis {
  issuer: string;
  problems: IssuerProblem[];
}

interface DoctorTargets {
  servers: FoundServer[];
  /** Names of the servers that are disabled in the config file. */
  disabled: readonly string[];
  /** Which config file the servers come from, if the person did not name it. */
  note?: string | undefined;
  /** Warnings about the config file. */
  warnings?: readonly string[];
  /** What is known without examining anything. */
  findings?: readonly Diagnosis[];
  /** With the issuers that are examined, too. */
  settings?: ProgramConfig['settings'];
}

/** Examines all servers at the same time and reports each as soon as it is done: a silent server delays no other. */
export async function doctor(line: CommandLine): Promise<number> {
  const limit = limitIn(line.flags);
  const screen = new Screen(line.flags);
  const { servers, disabled, note, warnings = [], findings = [], settings } = await serversFor(line);
  const stop = new Stop(undefined);
  const known = new Map<FoundServer, Diagnosis>();
  if (note !== undefined) screen.note(`meanwhile: ${note}`);
  for (const warning of warnings) screen.note(`meanwhile: ${warning}`);
  if (!screen.json) for (const name of disabled) screen.printOwn(describeDisabled(name, screen));
  if (!screen.json) for (const diagnosis of findings) screen.printOwn(describe(diagnosis, screen));
  if (servers.length > 0) {
    const what = servers.length === 1 ? servers.map(serverLabel).join() : `${servers.length} servers`;
    screen.live?.show(`examining ${what}`);
  }
  const examined = servers.map(async (server) =>
    diagnose(
      server,
      line.flags,
      limit,
      stop,
      async () => configFor(line),
      (diagnosis) => {
        known.set(server, diagnosis);
        if (!screen.json) screen.printOwn(describe(diagnosis, screen));
      },
    ),
  );
  const issuers: IssuerDiagnosis[] = [];
  const asked =
    settings &&
    diagnoseIssuers(settings, stop, (diagnosis) => {
      issuers.push(diagnosis);
      if (!screen.json) screen.printOwn(describeIssuer(diagnosis, screen));
    });
  await Promise.all([...examined, asked]);
  screen.live?.hide();
  stop.close();
  if (screen.json) {
    const all = [...servers.map((server) => known.get(server) ?? unfinished(server)), ...findings].map(asJson);
    screen.printJson({
      servers: [...all, ...disabled.map((server) => ({ server, ok: true, disabled: true, problems: [] }))],
      ...(issuers.length > 0 && { issuers: issuers.map((each) => ({ ...each, ok: isWell(each) })) }),
    });
  }
  if (stop.signal.aborted) {
    const missing = servers.filter((server) => !known.has(server)).map(serverLabel);
    screen.note(`meanwhile: interrupted${missing.length === 0 ? '' : `; not checked: ${missing.join(', ')}`}`);
    return EXIT_CODES.interrupted;
  }
  return [...known.values(), ...findings, ...issuers].every(isWell) ? RESULT : SOMETHING_WRONG;
}

/** Reports what was found, unless the person interrupts first. */
async function diagnoseIssuers(
  settings: ProgramConfig['settings'],
  stop: Stop,
  report: (diagnosis: IssuerDiagnosis) => void,
): Promise<void> {
  if (settings.auth.issuers.length === 0) return;
  const { examineIssuers } = await import('../../main.ts');
  try {
    await stop.unless(
      examineIssuers(settings, (issuer, problems) => {
        if (!stop.signal.aborted) report({ issuer, problems });
      }),
    );
  } catch (error) {
    if (error !== stop.signal.reason) throw error;
  }
}

function limitIn({ timeout: text = DEFAULT_LIMIT }: Flags): Limit {
  const ms = parseDuration(text, 'timeout');
  // A number alone means seconds; say so.
  return { ms, text: /\d$/.test(text.trim()) ? `${text.trim()}s` : text.trim() };
}

async function serversFor(line: CommandLine): Promise<DoctorTargets> {
  const { operands, flags } = line;
  const find = async (name: string): Promise<FoundServer> =>
    findServer(name, flags.header ?? [], async () => configFor(line));
  if (operands.length > 0) return { servers: await Promise.all(operands.map(find)), disabled: [] };
  const config = await configFor(line);
  const { servers, settings, file, disabled, warnings } = config;
  const { linked, findings } = await linkedServers();
  const { issuers } = settings.auth;
  if (servers.size + disabled.length + linked.length + findings.length + issuers.length === 0)
    throw new UsageError(`there are no servers in ${file ?? 'the config file'}`);
  if (flags.header !== undefined) throw new UsageError('--header requires a server');
  const all = [...servers].map(([name, server]) => configuredServer(name, server, settings));
  return { servers: [...all, ...linked], disabled, note: whereFrom(config), warnings, findings, settings };
}

/** Linked clients are checked like servers. */
async function linkedServers(): Promise<{ linked: FoundServer[]; findings: Diagnosis[] }> {
  const clients = await linkedClients();
  const nameOf = ({ title }: LinkedClient): string => `${title} (linked)`;
  return {
    linked: clients.flatMap((each) =>
      'config' in each.start
        ? [{ name: nameOf(each), config: each.start.config, inConfigFile: true, linkedIn: each.client }]
        : [],
    ),
    findings: clients.flatMap((each): Diagnosis[] => {
      if ('config' in each.start) return [];
      return [{ server: nameOf(each), kind: 'command', linkedIn: each.client, problems: [each.start] }];
    }),
  };
}

function withLinkFix({ linkedIn, config }: FoundServer, findings: Findings): Findings {
  if (linkedIn === undefined || findings.info !== undefined) return findings;
  const fix = linkFix(linkedIn, config);
  return fix === undefined ? findings : { ...findings, problems: findings.problems.map((each) => ({ ...each, fix })) };
}

function whereFrom(config: ProgramConfig): string | undefined {
  const hint = configHint(config);
  if (hint !== undefined) return `there is no config file, so only the demo server is checked; ${hint}`;
  return config.source === 'folder'
    ? `examining the servers of ${basename(config.file ?? '')} in this folder`
    : undefined;
}

/** Reports what was found, unless the person interrupts first. */
async function diagnose(
  server: FoundServer,
  flags: Flags,
  limit: Limit,
  stop: Stop,
  loadConfig: () => Promise<ProgramConfig>,
  report: (diagnosis: Diagnosis) => void,
): Promise<void> {
  // Longer than our own limit, which has the better error message.
  const connectTimeoutMs = Math.max(server.connectTimeoutMs ?? 0, limit.ms * 2);
  // The whole list of tools shows whether the patterns match any.
  const { include: _include, exclude: _exclude, ...config } = server.config;
  const account = accountFor({ ...server, config }, loadConfig);
  const client = newClient({ ...server, config, connectTimeoutMs }, flags, account);
  declineAll(client);
  try {
    const findings = await stop.unless(examine(client, server.config, limit));
    report({ ...identityOf(server), ...withLinkFix(server, findings) });
  } catch (error) {
    if (error !== stop.signal.reason) throw error;
  } finally {
    await client.disconnect();
    await account?.close();
  }
}

const identityOf = (server: FoundServer): Pick<Diagnosis, 'server' | 'kind' | 'linkedIn'> => ({
  server: serverLabel(server),
  kind: 'url' in server.config ? 'http' : 'command',
  ...(server.linkedIn !== undefined && { linkedIn: server.linkedIn }),
});

function unfinished(server: FoundServer): Diagnosis {
  return { ...identityOf(server), problems: [{ problem: 'interrupted before the check finished' }] };
}

const isWell = ({ problems }: Pick<Findings, 'problems'>): boolean => problems.length === 0;

function asJson(diagnosis: Diagnosis): Record<string, unknown> {
  const { server, kind, linkedIn, info, tools, roundTripMs, problems } = diagnosis;
  const { initializeResult: _result, traits, ...facts } = info ?? {};
  return {
    server,
    kind,
    ...(linkedIn !== undefined && { linkedIn }),
    ok: isWell(diagnosis),
    ...(traits && { era: eraName(traits) }),
    ...facts,
    ...(tools !== undefined && { tools }),
    ...(roundTripMs !== undefined && { roundTripMs: Math.round(roundTripMs * 10) / 10 }),
    // Always present, also when the server has no tasks.
    tasks: info?.tasks ?? null,
    problems,
  };
}

function describe(diagnosis: Diagnosis, { style }: Screen): string {
  const { server, kind, info, tools, roundTripMs, problems } = diagnosis;
  const mark = isWell(diagnosis) ? style.good('✓') : style.bad('✗');
  const facts = info && [
    `${kind}, protocol ${cleanLine(info.protocolVersion)} (${eraName(info.traits)})`,
    ...(info.implementation
      ? [`${cleanLine(info.implementation.name)} ${cleanLine(info.implementation.version)}`]
      : []),
    ...(tools === undefined ? [] : [tools === 1 ? '1 tool' : `${tools} tools`]),
    describeTasks(info.tasks),
    ...(roundTripMs === undefined ? [] : [`round trip ${roundTripMs.toFixed(1)} ms`]),
  ];
  const capabilities = Object.keys(info?.capabilities ?? {}).map(cleanLine);
  return [
    paragraph(`${server}${facts ? `  ${facts.join(', ')}` : ''}`, `${mark} `, '  ').replace(
      server,
      style.strong(server),
    ),
    ...(info ? [style.faint(paragraph(`capabilities: ${capabilities.join(', ') || 'none'}`, '  ', '    '))] : []),
    ...describeProblems(problems, style),
  ].join('\n');
}

function describeIssuer({ issuer, problems }: IssuerDiagnosis, { style }: Screen): string {
  const mark = problems.length === 0 ? style.good('✓') : style.bad('✗');
  return [
    `${mark} ${style.strong(cleanLine(issuer))}  issuer of access tokens`,
    ...describeProblems(problems, style),
  ].join('\n');
}

function describeProblems(problems: Findings['problems'], style: Screen['style']): string[] {
  return problems.flatMap(({ problem, fix, output = [] }) => [
    paragraph(`problem: ${clean(problem)}`, '  ', '    ').replace('problem:', style.bad('problem:')),
    ...(output.length === 0 ? [] : ['  output:', ...output.map((line) => style.faint(`    ${line}`))]),
    ...(fix === undefined ? [] : [paragraph(`fix: ${fix}`, '  ', '    ').replace('fix:', style.warning('fix:'))]),
  ]);
}

function describeDisabled(server: string, { style }: Screen): string {
  return style.faint(`- ${server}  disabled in the config file`);
}

/** Wraps text at the width of the terminal. `first` must not be wider than `others`. */
function paragraph(text: string, first: string, others: string): string {
  const columns = process.stdout.isTTY ? process.stdout.columns - others.length : Infinity;
  const lines = text.split('\n').flatMap((line) => wrap(line, columns));
  return lines.map((line, index) => (index === 0 ? first : others) + line).join('\n');
}

function describeTasks(tasks: NonNullable<Findings['info']>['tasks']): string {
  if (tasks === undefined) return 'no tasks';
  const can = [...(tasks.list ? ['list'] : []), ...(tasks.cancel ? ['cancel'] : [])];
  return `tasks (${[cleanLine(tasks.generation), ...can].join(', ')})`;
}
