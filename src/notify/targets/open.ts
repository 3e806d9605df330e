/** Each kind of target is loaded on use. */

import type { TargetSettings } from '../settings.ts';
import type { Target } from '../target.ts';

export async function openTarget(settings: TargetSettings, now: () => number): Promise<Target> {
  switch (settings.type) {
    case 'webhook':
      return (await import('./webhook.ts')).webhook(settings, now);
    case 'ntfy':
      return (await import('./ntfy.ts')).ntfy(settings);
    case 'slack':
      return (await import('./slack.ts')).slack(settings);
    case 'smtp':
      return (await import('./smtp.ts')).smtp(settings);
    case 'command':
      return (await import('./command.ts')).command(settings);
  }
}
