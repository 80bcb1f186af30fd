import { describe, expect, it } from 'vitest';
import { EXIT_BUG, EXIT_CHECK_FAILED, EXIT_OK, exitCodeOfKind } from '../../../src/cli/exit.ts';
import { errorTable } from '../../../src/core/errors.ts';

describe('the exit code of a command', () => {
  it.each([
    ['bad usage', 'usage', 2],
    ['a bad config', 'config_invalid', 2],
    ['a bad input file', 'file_malformed', 2],
    ['an object that does not exist', 'golden_set_unknown', 2],
    ['a state that prevents the command', 'data_dir_in_use', 2],
    ['a service that could not be reached', 'database_unreachable', 3],
    ['an interruption', 'interrupted', 130],
  ] as const)('reports %s', (_, code, exitCode) => {
    expect(exitCodeOfKind[errorTable[code].kind]).toBe(exitCode);
  });

  it('of an error differs from the codes of success and of a failed check', () => {
    for (const { kind } of Object.values(errorTable)) {
      expect(exitCodeOfKind[kind]).not.toBe(EXIT_OK);
      expect(exitCodeOfKind[kind]).not.toBe(EXIT_CHECK_FAILED);
    }
  });

  it('of a bug differs from all other codes', () => {
    expect([EXIT_OK, EXIT_CHECK_FAILED, ...Object.values(exitCodeOfKind)]).not.toContain(EXIT_BUG);
  });
});
