import { describe, expect, it } from 'vitest';
import {
  historyNeeded,
  judgeGoldenRun,
  listGoldenChecks,
} from '../../../../src/checks/rules/golden-checks.ts';
import { aFloor, aScore, goldenChecks } from '../../../support/builders.ts';

const checks = goldenChecks({
  floors: [aFloor()],
  regressions: [{ measure: 'mrr@10', drop: 0.05, alpha: 0.01, severity: 'warning', runs: 3 }],
  staleLabels: [{ above: 0.1, severity: 'warning' }],
});

describe('the checks of a pipeline', () => {
  it('are all judged on a run, each under the name that it is listed by', () => {
    const evidence = {
      scores: [aScore()],
      compared: 'No baseline is pinned.',
      history: [],
      labels: { kind: 'unknown', reason: 'There is no store.' },
    } as const;
    const results = judgeGoldenRun(checks, 'faq', evidence);
    expect(results.map(({ name, severity, threshold }) => ({ name, severity, threshold }))).toEqual(
      listGoldenChecks(checks, 'faq'),
    );
    expect(results.map(({ verdict }) => verdict)).toEqual(['ok', 'no_data', 'no_data']);
  });

  it('look back as far as the longest confirmation takes', () => {
    expect(historyNeeded(checks)).toBe(2);
    expect(historyNeeded(goldenChecks())).toBe(0);
  });
});
