import { expect, test } from 'vitest';
import { httpGateway } from '../../support/gateway.ts';
import { hubOverHttp, hubOverStdio, type ClientKind, type HubClient } from '../../support/hub.ts';

const KINDS: ClientKind[] = ['v1', 'modern'];
const URI = 'emceepee://diagrams';

interface Diagram {
  name: string;
  description: string;
  mermaid: string;
}

async function readDiagrams(hub: HubClient): Promise<Diagram[]> {
  const { resources } = await hub.request('resources/list');
  expect(resources).toEqual([expect.objectContaining({ uri: URI, mimeType: 'application/json' })]);
  const { contents } = await hub.request('resources/read', { uri: URI });
  const [content, ...others] = contents as { uri: string; mimeType: string; text: string }[];
  expect(others).toEqual([]);
  expect(content).toMatchObject({ uri: URI, mimeType: 'application/json' });
  const { diagrams } = JSON.parse(content?.text ?? '{}') as { diagrams: Diagram[] };
  return diagrams;
}

test.each(KINDS)('H-10: the hub offers the five diagrams as a resource (%s)', async (kind) => {
  const { url } = await httpGateway({});
  const overHttp = await readDiagrams(await hubOverHttp(url, kind));
  expect(overHttp.map(({ name }) => name)).toEqual([
    'proxy_task_states',
    'pending_elicitation_states',
    'pending_sampling_states',
    'tool_call_lifecycle',
    'entity_relationships',
  ]);
  expect(overHttp.every(({ description }) => description.length > 0)).toBe(true);
  expect(await readDiagrams(await hubOverStdio({}, {}, kind))).toEqual(overHttp);
});

test('H-10: each line of the diagrams is valid mermaid', async () => {
  const { url } = await httpGateway({});
  for (const { name, mermaid } of await readDiagrams(await hubOverHttp(url))) {
    const problem = mermaid.startsWith('flowchart') ? flowchartProblem(mermaid) : stateDiagramProblem(mermaid);
    expect(problem, name).toBeUndefined();
  }
});

test('H-10: the diagrams show the states of the state machines', async () => {
  const { url } = await httpGateway({});
  const diagrams = new Map((await readDiagrams(await hubOverHttp(url))).map(({ name, mermaid }) => [name, mermaid]));
  const statesOf = (name: string): string[] =>
    [...new Set([...(diagrams.get(name) ?? '').matchAll(/--> (\w+)/g)].map(([, state]) => String(state)))].toSorted();
  expect(statesOf('proxy_task_states')).toEqual(['cancelled', 'completed', 'expired', 'failed', 'working']);
  expect(statesOf('pending_elicitation_states')).toEqual(
    ['accepted', 'cancelled', 'declined', 'expired', 'pending', 'rejected'].toSorted(),
  );
  expect(statesOf('pending_sampling_states')).toEqual(['completed', 'expired', 'pending', 'rejected']);
});

test('H-10: reading an unknown resource is an error that names the known one', async () => {
  const { url } = await httpGateway({});
  const hub = await hubOverHttp(url);
  await expect(hub.request('resources/read', { uri: 'emceepee://other' })).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining(URI),
  });
});

// The grammar of what the diagrams use, and no more: a line that does not fit is a line that may not render.

const STATE = String.raw`(?:\[\*\]|\w+)`;
const STATE_LINES = [
  new RegExp(String.raw`^${STATE} --> ${STATE}(?: : [^{};#:]*(?:\([^{};#]*\))?[^{};#:]*)?$`),
  /^state \w+ \{$/,
  /^\}$/,
  /^note (?:right|left) of \w+$/,
  /^end note$/,
];

function stateDiagramProblem(mermaid: string): string | undefined {
  const [first, ...lines] = linesOf(mermaid);
  if (first !== 'stateDiagram-v2') return `unknown kind: ${first}`;
  let depth = 0;
  let note = false;
  for (const line of lines) {
    if (note && line !== 'end note') continue;
    if (!STATE_LINES.some((pattern) => pattern.test(line))) return line;
    if (line.endsWith('{')) depth += 1;
    if (line === '}') depth -= 1;
    if (depth < 0) return 'one brace too many';
    if (line.startsWith('note') || line === 'end note') note = line !== 'end note';
  }
  return depth === 0 && !note ? undefined : 'something is left open';
}

const NODE = String.raw`\w+(?:\[[^\]()]+\]|\[\([^\]()]+\)\])?`;
const FLOW_LINES = [
  /^subgraph "[^"]+"$/,
  /^end$/,
  new RegExp(`^${NODE}$`),
  new RegExp(String.raw`^\w+ -->\|[^|]+\| \w+(?: & \w+)*$`),
];

function flowchartProblem(mermaid: string): string | undefined {
  const [first, ...lines] = linesOf(mermaid);
  if (!/^flowchart (?:TB|TD|LR|RL|BT)$/.test(first ?? '')) return `unknown kind: ${first}`;
  const wrong = lines.find((line) => !FLOW_LINES.some((pattern) => pattern.test(line)));
  if (wrong !== undefined) return wrong;
  const count = (start: string): number => lines.filter((line) => line.startsWith(start)).length;
  if (count('subgraph') !== lines.filter((line) => line === 'end').length) return 'a subgraph is left open';
  const declared = new Set(lines.flatMap((line) => /^(\w+)\[/.exec(line)?.[1] ?? []));
  const used = lines.flatMap((line) =>
    line.includes('-->') ? line.replace(/-->\|[^|]+\|/, '&').split(/\s*&\s*/) : [],
  );
  return used.find((node) => !declared.has(node.trim()));
}

function linesOf(mermaid: string): string[] {
  return mermaid
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
