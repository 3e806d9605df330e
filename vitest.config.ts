import { dirname } from 'node:path';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that do not start the program, and so need no build. */
const UNIT = [
  'src/**/*.test.ts',
  'tests/*.test.ts',
  'tests/contract/{store,scripted-connection}.test.ts',
  'tests/crash/checker.test.ts',
  'tests/cluster/mutations.test.ts',
  'tests/auth/accounts/{accounts,attacks,discovery,keys}.test.ts',
  'tests/auth/sign-in/*.test.ts',
];

/** Where the longest files are. */
const LONG =
  /tests\/(postgres|console|conformance|cluster|crash\/crash|e2e\/(attacks|scale|native|cluster|examples|all\/matrix|demo\/s|cli\/(interrupt|terminal|everything)|direct\/(matrix|same|give-up\/again)|restart\/(tasks|questions|wishes)))/;

/** Begins with long files, so that none of them is left for the end, when the other workers are idle. */
class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is that of the sequencer, and returns another array
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...inTurn(sorted.filter(isLong)), ...sorted.filter((file) => !isLong(file))];
  }
}

/** One file of each folder in turn: those of one folder may all need much of the processor. */
function inTurn(files: readonly TestSpecification[]): TestSpecification[] {
  const taken = new Map<string, number>();
  const turns = files.map((file) => {
    const folder = dirname(file.moduleId);
    const turn = taken.get(folder) ?? 0;
    taken.set(folder, turn + 1);
    return { file, turn };
  });
  return turns.toSorted((a, b) => a.turn - b.turn).map(({ file }) => file);
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFilesFirst },
    // What takes long on a busy machine is no failure; tests wait for conditions, and end as soon as these hold.
    testTimeout: 40_000,
    hookTimeout: 40_000,
    expect: { poll: { timeout: 20_000 } },
    watch: false,
    setupFiles: 'tests/support/release-owned.ts',
    // Files share a process: starting one and loading the SDKs takes longer than most files.
    isolate: false,
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: UNIT, maxWorkers: 6, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'program',
          include: ['tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...UNIT],
          globalSetup: 'tests/support/build.ts',
          // More than there are processors, since tests wait much of the time; each worker loads the sources again.
          maxWorkers: 7,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
