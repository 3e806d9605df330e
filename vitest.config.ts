import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['tests/support/bundle-servers.ts'],
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    // A busy machine needs longer than the default of one second.
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 20_000,
    watch: false,
  },
});
