import type { AuditLog } from '../../core/ports/audit-log.ts';

/** The audit record of a store that is opened read-only. */
export interface AuditToRead extends Pick<AuditLog, 'read'> {
  /** The file, or the database without secrets. */
  name: string;
  close(): Promise<void>;
}
