import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Dialler, GATEWAY_IDENTITY, type DialHooks } from './dial.ts';

/** What Node looks names up with. */
const THREADS = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);

let folder: string;
let release: () => Promise<void>;

/** Keeps every thread busy that could look up a name, as a name server that does not answer would. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'meanwhile-dial-'));
  const fifo = join(folder, 'fifo');
  spawnSync('mkfifo', [fifo]);
  const blocked = Array.from({ length: THREADS }, () => open(fifo, 'r'));
  release = async () => {
    const writer = openSync(fifo, 'r+');
    for (const file of await Promise.all(blocked)) await file.close();
    closeSync(writer);
  };
});

afterEach(async () => {
  await release();
  await rm(folder, { recursive: true });
});

const CONFIG = { url: 'http://localhost:1/mcp' };
const hooks = (unwanted: AbortSignal): DialHooks => ({
  unwanted,
  onLost: () => {},
  onDoubt: () => {},
  onOutput: () => {},
  prepare: () => {},
});

it('B-2, X-2: checking the address of a server is limited by the connect timeout', async () => {
  const dialler = new Dialler(100, GATEWAY_IDENTITY, { isAllowed: () => true });
  await expect(dialler.dial(CONFIG, hooks(new AbortController().signal))).rejects.toThrow('within 100 ms');
});

it('B-2, X-2: checking the address of a server ends when the attempt is aborted', async () => {
  const unwanted = new AbortController();
  const dialler = new Dialler(60_000, GATEWAY_IDENTITY, { isAllowed: () => true });
  const dialled = dialler.dial(CONFIG, hooks(unwanted.signal));
  unwanted.abort();
  await expect(dialled).rejects.toThrow('not wanted any more');
});
