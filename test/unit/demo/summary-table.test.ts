import { expect, it } from 'vitest';
import { type SummaryRow, summaryTable } from '../../../src/demo/alert-log.ts';

const row: SummaryRow = {
  incident: 'index loses documents',
  alert: { name: 'ndcg@10 below 0.8', severity: 'critical', after: { goldenRuns: 1, liveQueries: 50 } },
  cause: 'index_lost_documents',
  falseAlerts: 0,
};

it('the summary table has one aligned line for each incident', () => {
  const other: SummaryRow = {
    ...row,
    incident: 'x',
    alert: { name: 'density drift', severity: 'warning', after: { goldenRuns: 2, liveQueries: 1 } },
    falseAlerts: 3,
  };
  expect(summaryTable([row, other])).toEqual([
    'incident               first alert               detected after     cause                 false alerts',
    'index loses documents  ndcg@10 below 0.8 (page)  1 run, 50 queries  index_lost_documents  0',
    'x                      density drift (ticket)    2 runs, 1 query    index_lost_documents  3',
  ]);
});

it('the summary table shows incidents that were not detected or not diagnosed', () => {
  const [, line] = summaryTable([{ ...row, alert: null, cause: null }]);
  expect(line?.split(/ {2,}/)).toEqual(['index loses documents', 'none', 'never', 'none', '0']);
});
