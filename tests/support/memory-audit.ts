/** An audit record in memory, which several gateways of one process share. */

import { answererOf, lowerCase, ownerOf, type AuditLine, type StoredLine } from '../../src/core/audit/line.ts';
import type { AuditLog, AuditQuery } from '../../src/core/ports/audit-log.ts';

export class MemoryAudit implements AuditLog {
  #lines: StoredLine[] = [];
  readonly #known = new Set<string>();
  #newest = 0;
  /** Makes every `append` fail with it. */
  failure: Error | undefined;

  async append(lines: readonly AuditLine[]): Promise<void> {
    if (this.failure) throw this.failure;
    for (const line of lines) {
      this.#newest += 1;
      const key = `${line.gateway} ${line.n}`;
      if (this.#known.has(key)) continue;
      this.#known.add(key);
      this.#lines.push({ seq: this.#newest, ...structuredClone(line) });
    }
  }

  async read(query: AuditQuery): Promise<StoredLine[]> {
    const { order, after, limit } = query;
    const ordered = order === 'newest' ? this.#lines.toReversed() : this.#lines;
    const isAfter = (seq: number): boolean => after === undefined || (order === 'newest' ? seq < after : seq > after);
    return ordered.filter((line) => isAfter(line.seq) && matches(line, query)).slice(0, limit);
  }

  async trim(before: number, maxBytes: number): Promise<void> {
    let room = maxBytes;
    const kept = this.#lines.toReversed().filter((line) => {
      room -= JSON.stringify(line).length;
      return line.at >= before && room >= 0;
    });
    this.#lines = kept.toReversed();
  }
}

function matches(
  line: StoredLine,
  { kinds, owner, principal, server, tool, sessionId, text, from, to }: AuditQuery,
): boolean {
  const fields = line as unknown as Record<string, unknown>;
  return (
    (kinds === undefined || kinds.includes(line.kind)) &&
    (owner === undefined || ownerOf(line) === owner) &&
    (principal === undefined || ownerOf(line) === principal || answererOf(line) === principal) &&
    (server === undefined || fields['server'] === server) &&
    (tool === undefined || fields['tool'] === tool) &&
    (sessionId === undefined || fields['sessionId'] === sessionId) &&
    (text === undefined || lowerCase(JSON.stringify(line)).includes(lowerCase(JSON.stringify(text).slice(1, -1)))) &&
    (from === undefined || line.at >= from) &&
    (to === undefined || line.at < to)
  );
}
