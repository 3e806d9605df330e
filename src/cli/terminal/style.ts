import { styleText } from 'node:util';
import type { WriteStream } from 'node:tty';
import { showsColour } from '../../lib/colour.ts';

const FORMATS = {
  strong: 'bold',
  faint: 'dim',
  accent: 'cyan',
  good: 'green',
  bad: 'red',
  warning: 'yellow',
} as const;

type Format = keyof typeof FORMATS;

export type Style = Readonly<Record<Format | 'plain', (text: string) => string>>;

function styleWith(paint: (format: Format, text: string) => string): Style {
  const paints = (Object.keys(FORMATS) as Format[]).map((format) => [format, (text: string) => paint(format, text)]);
  return { plain: (text) => text, ...(Object.fromEntries(paints) as Omit<Style, 'plain'>) };
}

export const PLAIN = styleWith((_format, text) => text);
const COLOURED = styleWith((format, text) => styleText(FORMATS[format], text, { validateStream: false }));

export const styleFor = (stream: NodeJS.WriteStream | WriteStream): Style => (showsColour(stream) ? COLOURED : PLAIN);
