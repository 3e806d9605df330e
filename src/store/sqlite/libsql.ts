/**
 * Loads libsql, a native module, when a store is opened. It looks for its binary of this platform, and to learn which C library
 * Node was built with, it has Node make a whole diagnostic report. That takes 2 MB of memory that stay with the process, and
 * 7 ms; the answer is also in the first bytes of Node's own executable.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import type Libsql from 'libsql';

/** Where the name of the dynamic loader is, in all builds of Node so far; if it is not, the report is made. */
const HEAD_BYTES = 4096;

let loaded: typeof Libsql | undefined;

export function loadLibsql(): typeof Libsql {
  loaded ??= withoutReport(() => createRequire(import.meta.url)('libsql') as typeof Libsql);
  return loaded;
}

function withoutReport<T>(load: () => T): T {
  const { report } = process;
  const library = cLibrary();
  const whole = Object.getOwnPropertyDescriptor(report, 'getReport');
  if (library === undefined || whole === undefined) return load();
  const value = (): object => ({ header: library === 'glibc' ? { glibcVersionRuntime: '' } : {} });
  Object.defineProperty(report, 'getReport', { ...whole, value });
  try {
    return load();
  } finally {
    Object.defineProperty(report, 'getReport', whole);
  }
}

/** The C library of this Node, or `undefined` if that cannot be told. */
export function cLibrary(): 'glibc' | 'musl' | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const loader = /\/ld-(linux|musl)-/.exec(headOf(process.execPath))?.[1];
    if (loader === undefined) return undefined;
    return loader === 'musl' ? 'musl' : 'glibc';
  } catch {
    // The system may hide the executable; then the report is used.
    return undefined;
  }
}

function headOf(file: string): string {
  const handle = openSync(file, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.toString('latin1', 0, readSync(handle, head, 0, HEAD_BYTES, 0));
  } finally {
    closeSync(handle);
  }
}
