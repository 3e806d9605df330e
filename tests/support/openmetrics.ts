/** Reads OpenMetrics text, and throws where it is not as the format wants it. */

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  name: string;
  type: string;
  help: string;
  samples: Sample[];
}

const SUFFIXES: Record<string, readonly string[]> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum'],
  info: ['_info'],
};

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"(?:,|$)/y;

export function parseOpenMetrics(text: string): Map<string, Family> {
  if (!text.endsWith('\n# EOF\n')) throw new Error('no end');
  const families = new Map<string, Family>();
  let family: Family | undefined;
  const seen = new Set<string>();
  for (const line of text.slice(0, -'# EOF\n'.length).trimEnd().split('\n')) {
    const [, keyword, name = '', rest = ''] = /^# (TYPE|UNIT|HELP) (\S+) (.+)$/.exec(line) ?? [];
    if (keyword === 'TYPE') {
      if (families.has(name)) throw new Error(`a second ${name}`);
      if (SUFFIXES[rest] === undefined) throw new Error(`unknown type: ${line}`);
      family = { name, type: rest, help: '', samples: [] };
      families.set(name, family);
    } else if (keyword !== undefined) {
      if (family?.name !== name || family.samples.length > 0) throw new Error(`out of place: ${line}`);
      if (keyword === 'UNIT' && !name.endsWith(`_${rest}`)) throw new Error(`unit not in the name: ${line}`);
      if (keyword === 'HELP') family.help = rest;
    } else {
      if (family === undefined) throw new Error(`out of place: ${line}`);
      if (seen.has(line.replace(/ \S+$/, ''))) throw new Error(`a second ${line}`);
      seen.add(line.replace(/ \S+$/, ''));
      family.samples.push(sampleOf(line, family));
    }
  }
  for (const each of families.values()) if (each.type === 'histogram') checkBuckets(each);
  return families;
}

function sampleOf(line: string, { name: base, type }: Family): Sample {
  const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
  if (!SUFFIXES[type]?.some((suffix) => name === `${base}${suffix}`)) throw new Error(`not of ${base}: ${line}`);
  if (!Number.isFinite(Number(value))) throw new Error(`no number: ${line}`);
  const found: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < labels.length) {
    const [, label = '', text = ''] = LABEL.exec(labels) ?? [];
    if (label === '' || label in found) throw new Error(`bad labels: ${line}`);
    found[label] = text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
  }
  return { name, labels: found, value: Number(value) };
}

/** Buckets grow, and the last one holds everything. */
function checkBuckets({ name, samples }: Family): void {
  const keyOf = ({ labels: { le: _le, ...rest } }: Sample): string => JSON.stringify(rest);
  for (const labels of new Set(samples.map(keyOf))) {
    const of = samples.filter((sample) => keyOf(sample) === labels);
    const buckets = of.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels: { le = '' } }) => (le === '+Inf' ? Infinity : Number(le)));
    const counts = buckets.map(({ value }) => value);
    const grow = (values: number[]): boolean =>
      values.every((value, index) => index === 0 || value >= (values[index - 1] ?? 0));
    const count = of.find((sample) => sample.name === `${name}_count`)?.value;
    const isWhole = bounds.at(-1) === Infinity && counts.at(-1) === count;
    const hasSum = of.some((sample) => sample.name === `${name}_sum`);
    if (!grow(bounds) || !grow(counts) || !isWhole || !hasSum) throw new Error(`bad buckets: ${name} ${labels}`);
  }
}

/** The sum of all samples of this name with these labels. */
export function valueOf(families: Map<string, Family>, sample: string, labels: Record<string, string> = {}): number {
  return [...families.values()]
    .flatMap(({ samples }) => samples)
    .filter(
      (each) => each.name === sample && Object.entries(labels).every(([key, value]) => each.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0);
}
