import { configDefaults, defineConfig } from 'vitest/config';

/** Tests that start no program, and so need no build. */
const UNIT = [
  'src/**/*.test.ts',
  'tests/*.test.ts',
  'tests/contract/{store,scripted-connection}.test.ts',
  'tests/crash/checker.test.ts',
];

export default defineConfig({
  test: {
    // Tests wait more than they compute.
    maxWorkers: 4,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // A busy machine needs longer than the default of one second.
    expect: { poll: { timeout: 10_000 } },
    watch: false,
    setupFiles: 'tests/support/release-owned.ts',
    // Files share a process: starting one and loading the SDKs takes longer than most files.
    isolate: false,
    projects: [
      { extends: true, test: { name: 'unit', include: UNIT } },
      {
        extends: true,
        test: {
          name: 'program',
          include: ['tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...UNIT],
          globalSetup: 'tests/support/build.ts',
        },
      },
    ],
  },
});
