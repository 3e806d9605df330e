import type Libsql from 'libsql';

/**
 * All of `work` or nothing of it. SQLite rolls back by itself on some failures (a full disk is one); a second ROLLBACK
 * would then throw and hide the first error, which is why the library's own helper is not used.
 */
export function transaction(db: Libsql.Database, work: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
