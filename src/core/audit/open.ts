import { randomUUID } from 'node:crypto';
import { systemClock } from '../../lib/clock.ts';
import type { GatewayParts } from '../gateway.ts';
import type { Store } from '../ports/store.ts';
import type { AuditRecorder } from './recorder.ts';

/** The audit record, which is loaded only if it is turned on. */
export async function openAudit(
  store: Store,
  { settings, log, clock = systemClock }: Pick<GatewayParts, 'settings' | 'log' | 'clock'>,
): Promise<AuditRecorder | undefined> {
  if (settings.audit === undefined) return undefined;
  const { AuditRecorder: Opened } = await import('./recorder.ts');
  const gateway = store.cluster?.gatewayId ?? randomUUID();
  return new Opened({ store: await store.openAudit(), settings: settings.audit, gateway, log, clock });
}
