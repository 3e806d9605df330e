/** Metrics in the text format of OpenMetrics 1.0. */

export const CONTENT_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** A metric with all its series. */
export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'info';
  readonly unit?: string | undefined;
  readonly help: string;
  /** Without the type and help. */
  lines(): string[];
}

/** Series of one metric beyond this number are not kept: labels must not fill the memory. */
const MAX_SERIES = 2000;

/** The series of a metric that begin with the same values of labels. */
interface Branch<T> {
  next: Map<string, Branch<T>>;
  value?: T;
}

/** The series of a metric, by the values of its labels. Finding one is part of every call, and so must not make a text. */
class Series<T> {
  readonly #labels: readonly string[];
  readonly #create: () => T;
  readonly #root: Branch<T> = { next: new Map() };
  readonly #all: { labels: string; value: T }[] = [];

  constructor(labels: readonly string[], create: () => T) {
    this.#labels = labels;
    this.#create = create;
  }

  /** `undefined` if there are too many. */
  of(values: readonly string[]): T | undefined {
    let branch = this.#root;
    for (const value of values) {
      const next = branch.next.get(value);
      if (next === undefined) return this.#add(values);
      branch = next;
    }
    return branch.value ?? this.#add(values);
  }

  #add(values: readonly string[]): T | undefined {
    if (this.#all.length >= MAX_SERIES) return undefined;
    let branch = this.#root;
    for (const value of values) {
      const next = branch.next.get(value) ?? { next: new Map() };
      branch.next.set(value, next);
      branch = next;
    }
    const labels = this.#labels.map((name, index) => `${name}="${escapeText(values[index] ?? '')}"`).join(',');
    const value = this.#create();
    branch.value = value;
    this.#all.push({ labels, value });
    return value;
  }

  lines(show: (labels: string, value: T) => string[]): string[] {
    return this.#all.flatMap(({ labels, value }) => show(labels, value));
  }
}

/** What is appended to the name of a metric in its samples. */
const SUFFIX = { counter: '_total', gauge: '', info: '_info' } as const;

interface ScalarOptions {
  type: keyof typeof SUFFIX;
  labels?: readonly string[];
  unit?: string;
}

/** A number for each series: a count that only grows, or the state at this moment. */
export class Scalar implements Family {
  readonly type: ScalarOptions['type'];
  readonly name: string;
  readonly help: string;
  readonly unit: string | undefined;
  readonly #series: Series<{ value: number }>;

  constructor(name: string, help: string, { type, labels = [], unit }: ScalarOptions) {
    this.name = name;
    this.help = help;
    this.type = type;
    this.unit = unit;
    this.#series = new Series(labels, () => ({ value: 0 }));
  }

  add(amount: number, ...labels: string[]): this {
    const series = this.#series.of(labels);
    if (series) series.value += amount;
    return this;
  }

  /** Raises the value to this one. */
  atLeast(value: number, ...labels: string[]): this {
    const series = this.#series.of(labels);
    if (series) series.value = Math.max(series.value, value);
    return this;
  }

  lines(): string[] {
    return this.#series.lines((labels, { value }) => [sample(`${this.name}${SUFFIX[this.type]}`, labels, value)]);
  }
}

/** Durations in seconds, counted in buckets. */
export class Histogram implements Family {
  readonly type = 'histogram';
  readonly unit = 'seconds';
  readonly name: string;
  readonly help: string;
  readonly #bounds: readonly number[];
  readonly #series: Series<{ buckets: number[]; sum: number }>;

  constructor(name: string, help: string, bounds: readonly number[], labels: readonly string[] = []) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
    // The last one is for all that is longer.
    this.#series = new Series(labels, () => ({ buckets: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 }));
  }

  observe(seconds: number, ...values: string[]): void {
    const series = this.#series.of(values);
    if (series === undefined) return;
    // A clock may be set back.
    const value = Math.max(0, seconds);
    let index = 0;
    while (value > (this.#bounds[index] ?? Infinity)) index += 1;
    series.buckets[index] = (series.buckets[index] ?? 0) + 1;
    series.sum += value;
  }

  lines(): string[] {
    const bounds = [...this.#bounds.map(showBound), '+Inf'];
    return this.#series.lines((labels, { buckets, sum }) => {
      let count = 0;
      const lines = bounds.map((bound, index) => {
        count += buckets[index] ?? 0;
        return sample(`${this.name}_bucket`, join(labels, `le="${bound}"`), count);
      });
      return [...lines, sample(`${this.name}_count`, labels, count), sample(`${this.name}_sum`, labels, sum)];
    });
  }
}

export function expose(families: readonly Family[]): string {
  const lines = families.flatMap((family) => [
    `# TYPE ${family.name} ${family.type}`,
    ...(family.unit === undefined ? [] : [`# UNIT ${family.name} ${family.unit}`]),
    `# HELP ${family.name} ${escapeText(family.help)}`,
    ...family.lines(),
  ]);
  return `${lines.join('\n')}\n# EOF\n`;
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${value}`;
}

const join = (labels: string, more: string): string => (labels === '' ? more : `${labels},${more}`);

/** The bound of a bucket as the format wants it: `1.0`. */
function showBound(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
