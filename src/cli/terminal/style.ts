import { styleText } from 'node:util';
import type { WriteStream } from 'node:tty';
import { showsColour } from '../../lib/colour.ts';

type Paint = (text: string) => string;

export interface Style {
  plain: Paint;
  strong: Paint;
  faint: Paint;
  accent: Paint;
  good: Paint;
  bad: Paint;
  warning: Paint;
}

const asItIs: Paint = (text) => text;

export const PLAIN: Style = {
  plain: asItIs,
  strong: asItIs,
  faint: asItIs,
  accent: asItIs,
  good: asItIs,
  bad: asItIs,
  warning: asItIs,
};

export function styleFor(stream: NodeJS.WriteStream | WriteStream): Style {
  if (!showsColour(stream)) return PLAIN;
  const paint =
    (format: Parameters<typeof styleText>[0]): Paint =>
    (text) =>
      styleText(format, text, { validateStream: false });
  return {
    plain: asItIs,
    strong: paint('bold'),
    faint: paint('dim'),
    accent: paint('cyan'),
    good: paint('green'),
    bad: paint('red'),
    warning: paint('yellow'),
  };
}
