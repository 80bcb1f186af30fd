import { defineConfig } from 'vitest/config';
import { SlowestFiles } from './test/support/slowest-files.ts';

const report = process.env['RECALLD_TEST_REPORT'];

export default defineConfig({
  test: {
    // CI reads the count of its closing line from the report.
    reporters: [
      'default',
      new SlowestFiles(),
      ...(report === undefined ? [] : [['json', { outputFile: report }] as ['json', object]]),
    ],
    // The machine of a user and of CI has two cores, which two files at a time leave idle for a third of the time: they
    // wait for the services that they start. Four keep both busy.
    maxWorkers: 4,
    projects: [
      {
        test: {
          name: 'unit',
          // They share code and nothing else, and loading it takes as long as they do.
          isolate: false,
          setupFiles: ['test/support/property-seed.ts'],
          include: ['test/unit/**/*.test.ts', 'test/architecture/**/*.test.ts'],
          // A busy machine is no failure; speed is judged in bench/.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'integration',
          setupFiles: ['test/support/property-seed.ts'],
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'e2e',
          setupFiles: ['test/support/property-seed.ts'],
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts', 'test/support/program-setup.ts'],
          // Commands are called in the process of their test, as they were built.
          server: { deps: { external: [/\/dist\//] } },
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
