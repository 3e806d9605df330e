/** Reads the metrics of a gateway. */

export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of an OpenMetrics text; `undefined` if it is not in this format. */
export function readMetrics(text: string): Sample[] | undefined {
  if (!text.trimEnd().endsWith('# EOF')) return undefined;
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) return [];
    const found = [...labels.matchAll(LABEL)].map(([, key = '', quoted = '']) => [key, unescaped(quoted)]);
    return [{ name, labels: Object.fromEntries(found) as Record<string, string>, value: Number(value) }];
  });
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_all, character: string) => (character === 'n' ? '\n' : character));
}
