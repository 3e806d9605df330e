/** The only file of this folder that the rest of the program loads, and only when `notify` is configured. */

import type { Notifier } from '../core/notify/notifier.ts';
import type { Observed } from '../core/observer.ts';
import type { Store } from '../core/ports/store.ts';
import { secretId } from '../lib/ids.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf, type Log } from '../lib/log.ts';
import { Dispatcher } from './dispatcher.ts';
import { testMessage } from './message.ts';
import { QueueingNotifier, type NotifiedQuestions } from './notifier.ts';
import { Plan } from './plan.ts';
import { Sender, sendInTime } from './sender.ts';
import type { NotifySettings } from './settings.ts';
import { openTarget } from './targets/open.ts';
import { TaskWebhooks } from './task-webhooks.ts';

export interface NotifyParts {
  settings: NotifySettings;
  store: Store;
  clock: Clock;
  log: Log;
  observed: Observed;
  /** Where people reach the gateway, once that is known. */
  base: () => string | undefined;
}

export function createNotifier({ settings, store, clock, log, observed, base }: NotifyParts): Notifier {
  const webhooks = settings.taskWebhooks && new TaskWebhooks(settings.taskWebhooks.allow);
  const plan = new Plan(settings);
  const sender = new Sender({ settings, store, clock, base, webhooks });
  const open: NotifiedQuestions = new Map();
  const isOpen = (id: string): boolean => open.has(id);
  const dispatcher = new Dispatcher({ store, sender, plan, settings, clock, log, observed, isOpen });
  const { outbox } = store;
  return new QueueingNotifier({ outbox, open, plan, dispatcher, webhooks, counters: store, clock, log, observed });
}

export interface TestOutcome {
  target: string;
  type: string;
  /** Why it failed. */
  error?: string;
  tookMs: number;
}

/** Sends a test message to each of the targets, without the queue. */
export async function testTargets(
  { targets }: NotifySettings,
  names: readonly string[],
  clock: Clock,
  base?: string,
): Promise<TestOutcome[]> {
  return Promise.all(
    names.flatMap((name) => {
      const settings = targets[name];
      if (settings === undefined) return [];
      const begun = performance.now();
      const message = testMessage(`msg_test_${secretId()}`, name, clock.now(), base);
      const outcome = (error?: string): TestOutcome => ({
        target: name,
        type: settings.type,
        ...(error !== undefined && { error }),
        tookMs: Math.round(performance.now() - begun),
      });
      return openTarget(settings, () => clock.now())
        .then(async (target) => sendInTime(target, message, settings.timeoutMs, clock))
        .then(
          () => outcome(),
          (error: unknown) => outcome(messageOf(error)),
        );
    }),
  );
}
