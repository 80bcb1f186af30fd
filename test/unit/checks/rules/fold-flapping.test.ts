import { describe, expect, it } from 'vitest';
import { foldFlapping } from '../../../../src/checks/rules/fold-flapping.ts';
import type { Verdict } from '../../../../src/core/model.ts';

/** Changes between these verdicts, newest first. */
const changes = (...verdicts: readonly Verdict[]) =>
  verdicts.slice(1).map((from, index) => ({ id: index, from, to: verdicts[index] as Verdict }));

describe('foldFlapping', () => {
  it('folds consecutive changes between OK and no data, and counts how often data went missing', () => {
    const all = changes('ok', 'no_data', 'ok', 'no_data', 'ok');
    expect(foldFlapping(all)).toEqual([{ kind: 'flapping', newest: all[0], oldest: all[3], times: 2 }]);
  });

  it('shows every change to and from a failure, and folds the flapping on both sides of the failure', () => {
    const all = changes('ok', 'no_data', 'ok', 'no_data', 'critical', 'ok', 'no_data', 'ok', 'no_data');
    expect(foldFlapping(all).map(({ kind }) => kind)).toEqual(['flapping', 'change', 'change', 'flapping']);
  });

  it('does not fold only two changes', () => {
    expect(foldFlapping(changes('ok', 'no_data', 'ok'))).toMatchObject([{ kind: 'change' }, { kind: 'change' }]);
  });
});
