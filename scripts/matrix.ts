import { CELLS, CLIENTS, keysOf, SERVERS } from '../tests/e2e/direct/matrix/cells.ts';

/** The bridge matrix as the pages show it: clients in rows, servers in columns. Each cell of it is a test. */
export function matrixTable(): string {
  const head = ['client ↓ with a server that →', ...Object.values(SERVERS)];
  const rows = keysOf(CLIENTS).map((client) => [
    CLIENTS[client],
    ...CELLS.filter((cell) => cell.client === client).map(({ how }) => how),
  ]);
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}
