/** A gateway that notifies a webhook, and a client whose calls ask. */
import { expect } from 'vitest';
import type { SettingsInput } from '../../support/gateway.ts';
import { Receiver, type Received } from '../../support/receiver.ts';
import { setup, type Setup } from '../console/setup.ts';

export const SECRET = 'a secret of sixteen';

export interface Notified extends Setup {
  hook: Receiver;
  /** The notification of this type that comes next. */
  told: (type: string) => Promise<Received & { data: Record<string, string> }>;
}

/** A target of that receiver. */
export const target = (hook: Receiver, more: SettingsInput = {}): SettingsInput => ({
  type: 'webhook',
  url: hook.url,
  secret: SECRET,
  ...more,
});

export async function notified(
  more: SettingsInput = {},
  notify: SettingsInput = {},
  settings: SettingsInput = {},
): Promise<Notified> {
  const hook = await Receiver.start();
  const found = await setup({ notify: { targets: { hook: target(hook, more) }, ...notify }, ...settings });
  return { ...found, hook, told: async (type) => nextTold(hook, type) };
}

const seen = new WeakSet<Received>();

export async function nextTold(hook: Receiver, type: string): Promise<Received & { data: Record<string, string> }> {
  const isNew = (each: Received): boolean => !seen.has(each) && each.body['type'] === type;
  await expect.poll(() => hook.received.some(isNew), { interval: 10 }).toBe(true);
  const found = hook.received.find(isNew) ?? expect.fail();
  seen.add(found);
  return { ...found, data: found.body['data'] as Record<string, string> };
}
