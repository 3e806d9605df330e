/** Time from starting the program on stdio to its answer to `initialize`, beside a Node that prints a line. */
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

/** All runs in order: those with the same number came one after the other. */
export interface StartUp {
  programMs: number[];
  bareMs: number[];
}

export async function measureStartUp(config: string): Promise<StartUp> {
  const programMs: number[] = [];
  const bareMs: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    bareMs.push(await firstOutput(['--eval', 'console.log("protocolVersion")']));
    programMs.push(await firstOutput([PROGRAM, 'stdio', '--config', config, '--log-level', 'error']));
  }
  return { programMs, bareMs };
}

async function firstOutput(args: string[]): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = once(child, 'exit');
  // A Node that only prints may be gone before it is written to.
  child.stdin.on('error', () => {});
  try {
    child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
    const [chunk] = (await Promise.race([once(child.stdout, 'data'), gone])) as [unknown];
    const time = performance.now() - started;
    if (!String(chunk).includes('protocolVersion')) throw new Error(`no answer to initialize: ${String(chunk)}`);
    return time;
  } finally {
    child.stdin.end();
    await gone;
  }
}
