import { run } from './run.ts';

/** Exits when all output is flushed; writing to a pipe is asynchronous. */
function exit(code: number): void {
  process.stdout.write('', () => process.exit(code));
}

void run(process.argv.slice(2)).then(exit);
