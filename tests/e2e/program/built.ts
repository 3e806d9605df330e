/** The built program, for tests that prove the build. */
import { PROGRAM } from '../../support/gateway.ts';
import * as program from '../../support/program.ts';

export { logged, logLines, type Program, type Serving } from '../../support/program.ts';

type Start<Options, Started> = (args: string[], options?: Options) => Promise<Started>;

const built =
  <Options extends object, Started>(start: Start<Options, Started>): Start<Options, Started> =>
  async (args, options) =>
    start(args, { program: PROGRAM, ...options } as Options & { program: string });

export const startProgram = built(program.startProgram);
export const runProgram = built(program.runProgram);
export const serveProgram = built(program.serveProgram);
