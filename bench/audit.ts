/**
 * CPU time that the audit record adds to a fast call: everything from being told of the call until its line is in a file, and the part of
 * it that is done before the call is answered. `node --import tsx bench/audit.ts`
 */
import { join } from 'node:path';
import { AuditRecorder } from '../src/core/audit/recorder.ts';
import { LiveCall, type CallOwner } from '../src/core/call/live-call.ts';
import { systemClock } from '../src/lib/clock.ts';
import { secretId } from '../src/lib/ids.ts';
import { InFlight } from '../src/lib/in-flight.ts';
import { createLog } from '../src/lib/log.ts';
import { openSqliteStore } from '../src/store/sqlite/store.ts';
import { temporaryFolder } from './folder.ts';

/** Many short rounds: some are disturbed by others, and the least disturbed one counts. */
const ROUNDS = 60;
const CALLS = 500;

const folder = await temporaryFolder();
const log = createLog('error');
const result = { content: [{ type: 'text', text: 'done' }] };

const owner: CallOwner = {
  promote: () => {},
  progressed: () => {},
  taskChanged: () => {},
  sending: () => undefined,
  checkpointChanged: async () => {},
  allAsked: () => {},
};

function newCall(n: number): LiveCall {
  const args = { path: `/data/report-${n}.txt`, text: 'x'.repeat(100), options: { overwrite: true, mode: 420 } };
  return new LiveCall({
    id: secretId(),
    owner,
    request: { server: 'files', tool: 'write_file', args, program: 'editor', timeoutMs: 50_000 },
    startedAt: Date.now(),
    bytes: 0,
    caller: { onProgress: () => {} },
  });
}

const cpuMicros = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

for (const contents of ['hash', 'none', 'keep'] as const) {
  const store = await openSqliteStore({ path: join(folder, `${contents}.db`), log });
  const settings = { keepMs: 86_400_000, bytes: 268_435_456, arguments: contents };
  const audit = new AuditRecorder({
    store: await store.openAudit(),
    settings,
    gateway: 'bench',
    log,
    clock: systemClock,
  });
  const about = { id: secretId(), principal: 'ann', view: 'direct' as const, program: () => 'editor' };
  const session = audit.session(about, new InFlight<string, LiveCall>());
  const [told, all]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const calls = Array.from({ length: CALLS }, (_, n) => newCall(n));
    const begun = cpuMicros();
    for (const call of calls) {
      session.callBegan(call);
      session.callEnded(call, { kind: 'result', result });
    }
    told.push((cpuMicros() - begun) / CALLS);
    await audit.flush();
    all.push((cpuMicros() - begun) / CALLS);
  }
  const least = (micros: number[]): string => Math.min(...micros).toFixed(1);
  console.log(`${contents}: ${least(all)} µs a call, ${least(told)} µs of it before the call is answered`);
  await audit.close();
  await store.close();
}
