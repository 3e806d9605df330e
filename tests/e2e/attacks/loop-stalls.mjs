/**
 * Loaded into the program with `--import`: writes to the file STALLS_FILE for how many milliseconds at most one turn of the
 * event loop has kept the processor busy. The time that other processes take from this one does not count.
 */
import { writeFileSync } from 'node:fs';

const EVERY_MS = 20;
let longest = 0;
let before = process.cpuUsage();
let at = performance.now();

setInterval(() => {
  const { user, system } = process.cpuUsage(before);
  // Threads that collect garbage beside the turn count for the processor, but not for the clock.
  const busy = Math.min((user + system) / 1000, performance.now() - at);
  before = process.cpuUsage();
  at = performance.now();
  if (busy <= longest) return;
  longest = busy;
  writeFileSync(process.env.STALLS_FILE, String(Math.round(longest)));
}, EVERY_MS).unref();
