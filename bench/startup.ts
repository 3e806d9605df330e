/** Time from starting the program on stdio to its answer to `initialize`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { PROGRAM } from './child.ts';

const RUNS = 10;

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1.0.0' },
  },
};

/** All runs, fastest first. */
export async function startUpTimes(config: string): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) times.push(await startOnce(config));
  return times.toSorted((a, b) => a - b);
}

async function startOnce(config: string): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, [PROGRAM, 'stdio', '--config', config, '--log-level', 'error'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  try {
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    const [chunk] = (await Promise.race([once(child.stdout, 'data'), gone])) as [unknown];
    const time = performance.now() - started;
    if (!String(chunk).includes('"protocolVersion"')) throw new Error(`no answer to initialize: ${String(chunk)}`);
    return time;
  } finally {
    child.stdin.end();
    await gone;
  }
}
