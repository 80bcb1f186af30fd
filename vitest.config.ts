import { defineConfig } from 'vitest/config';
import { ByProject } from './test/support/by-project.ts';
import { keepFilesInMemory } from './test/support/files-in-memory.ts';
import { SlowestFiles } from './test/support/slowest-files.ts';

keepFilesInMemory();

// Test files share code and nothing else, and to load it takes longer than most of them do.
const shared = { isolate: false, setupFiles: ['test/support/property-seed.ts'] };
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
    sequence: { sequencer: ByProject },
    projects: [
      {
        test: {
          name: 'unit',
          ...shared,
          include: ['test/unit/**/*.test.ts', 'test/architecture/**/*.test.ts'],
          // A busy machine is no failure; speed is judged in bench/.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          // The benches on a small scale, and tests of minutes: `npm run test:nightly`.
          name: 'nightly',
          ...shared,
          include: ['test/nightly/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts', 'test/support/program-setup.ts'],
          server: { deps: { external: [/\/dist\//] } },
          testTimeout: 120_000,
        },
      },
      {
        test: {
          // Programs of other projects, installed from their registries in the newest version: `npm run test:interop`.
          name: 'interop',
          ...shared,
          include: ['test/interop/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts', 'test/support/program-setup.ts'],
          server: { deps: { external: [/\/dist\//] } },
          // Their first use installs them, which takes minutes on a busy machine. A hook that ended by its timeout would
          // leave its servers behind.
          testTimeout: 1_800_000,
          hookTimeout: 1_800_000,
        },
      },
      {
        test: {
          name: 'integration',
          ...shared,
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'e2e',
          ...shared,
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/global-setup.ts', 'test/support/program-setup.ts'],
          // Commands are called in the process of their test, as they were built.
          server: { deps: { external: [/\/dist\//] } },
          // Several daemons at a time share the machine.
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
