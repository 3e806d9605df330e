/** Imported before a program: its clock is ahead by CLOCK_AHEAD_MS, as if so much time had passed before its start. */
const now = Date.now;
const aheadMs = Number(process.env.CLOCK_AHEAD_MS);

Date.now = () => now() + aheadMs;
