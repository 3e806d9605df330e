/**
 * Many calls held open at once: what each of them costs in memory, and whether all of them return with what is theirs.
 *
 * `npm run bench:held`, with `-- --calls 1000 --seconds 60`; `-- --json` for figures to compute with.
 */
import { parseArgs } from 'node:util';
import type { Memory } from './child.ts';
import { temporaryFolder } from './folder.ts';
import { measureHeldCalls, type Held } from './held-calls.ts';
import { mb } from './table.ts';

function asText({ calls, seconds, before, open, held, after, returnMs, right, wrong, progress }: Held): string {
  const line = (what: string, memory: Memory): string => {
    const each = (key: 'rssBytes' | 'heapBytes'): string =>
      `${((memory[key] - before[key]) / calls / 1000).toFixed(1)} kB`;
    const perCall =
      memory === open || memory === held ? `; each call ${each('rssBytes')}, of it heap ${each('heapBytes')}` : '';
    const sockets = memory.handles['TCPSocketWrap'] ?? 0;
    return `${what.padEnd(28)} ${mb(memory.rssBytes)}, heap ${mb(memory.heapBytes)}, ${sockets} sockets${perCall}`;
  };
  return [
    line('before', before),
    line(`${calls} calls open`, open),
    line(`${calls} calls open for ${seconds} s`, held),
    line('after', after),
    `${'back with the right result'.padEnd(28)} ${right} of ${calls}, the last ${returnMs.toFixed(0)} ms after the server was told`,
    `${'progress heard'.padEnd(28)} ${progress.fewest} to ${progress.most} reports a call`,
    ...wrong,
  ].join('\n');
}

// An interrupted benchmark takes its children along (see child.ts).
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});
const figures = await measureHeldCalls(await temporaryFolder(), Number(values.calls), Number(values.seconds));
console.log(values.json ? JSON.stringify(figures, undefined, 2) : asText(figures));
process.exitCode = figures.right === figures.calls ? 0 : 1;
