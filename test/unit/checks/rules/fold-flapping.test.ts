import { describe, expect, it } from 'vitest';
import { foldFlapping } from '../../../../src/checks/rules/fold-flapping.ts';
import type { Verdict } from '../../../../src/core/model.ts';

/** Changes between these verdicts, newest first. */
const changes = (...verdicts: readonly Verdict[]) =>
  verdicts.slice(1).map((from, index) => ({ id: index, from, to: verdicts[index] as Verdict }));

describe('foldFlapping', () => {
  it('folds changes in a row between OK and no data, and counts how often the data ended', () => {
    const all = changes('ok', 'no_data', 'ok', 'no_data', 'ok');
    expect(foldFlapping(all)).toEqual([{ kind: 'flapping', newest: all[0], oldest: all[3], times: 2 }]);
  });

  it('shows every change to and from a failure, and folds on both sides of it', () => {
    const all = changes('ok', 'no_data', 'ok', 'no_data', 'critical', 'ok', 'no_data', 'ok', 'no_data');
    expect(foldFlapping(all).map(({ kind }) => kind)).toEqual(['flapping', 'change', 'change', 'flapping']);
  });

  it('keeps two changes as they are', () => {
    expect(foldFlapping(changes('ok', 'no_data', 'ok'))).toMatchObject([{ kind: 'change' }, { kind: 'change' }]);
  });
});
