/** The progress of a call on one line. */

import { showDuration } from '../units.ts';
import { cleanLine } from '../../lib/clean.ts';
import type { Style } from './style.ts';
import { displayWidth, fit } from './layout.ts';

export interface Activity {
  label: string;
  startedAt: number;
  progress?: number | undefined;
  total?: number | undefined;
  message?: string | undefined;
  /** Shown instead of the message. */
  trouble?: string | undefined;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
export const FRAME_MS = 100;
const BAR_COLUMNS = 20;
/** A narrower terminal shows no bar, to leave room for the message. */
const ROOM_FOR_BAR = 50;

export function progressLine(activity: Activity, now: number, columns: number, style: Style): string {
  const elapsed = Math.max(0, now - activity.startedAt);
  const frame = FRAMES[Math.floor(elapsed / FRAME_MS) % FRAMES.length] ?? '';
  const label = fit(cleanLine(activity.label), Math.max(8, Math.floor(columns / 3)));
  const parts: [text: string, paint: (text: string) => string][] = [
    [frame, style.accent],
    [label, style.strong],
    [showDuration(elapsed), style.faint],
    ...howFar(activity, columns).map((text): [string, (text: string) => string] => [text, style.plain]),
  ];
  const used = parts.reduce((sum, [text]) => sum + displayWidth(text) + 1, 0);
  // The last column stays free: some terminals wrap as soon as it is written.
  const message = fit(cleanLine(activity.trouble ?? activity.message ?? ''), columns - used - 1);
  if (message !== '') parts.push([message, style.plain]);
  return parts.map(([text, paint]) => paint(text)).join(' ');
}

/** A bar and a percentage, or a number. */
export function howFar({ progress, total }: Pick<Activity, 'progress' | 'total'>, columns: number): string[] {
  if (progress === undefined || !Number.isFinite(progress)) return [];
  if (total === undefined || !(total > 0) || !Number.isFinite(total)) return [shortNumber(progress)];
  const share = Math.min(1, Math.max(0, progress / total));
  const percent = `${String(Math.floor(share * 100)).padStart(3)}%`;
  if (columns < ROOM_FOR_BAR) return [percent];
  const full = Math.floor(share * BAR_COLUMNS);
  return [`${'█'.repeat(full)}${'░'.repeat(BAR_COLUMNS - full)}`, percent];
}

const shortNumber = (value: number): string => String(Number(value.toPrecision(6)));
