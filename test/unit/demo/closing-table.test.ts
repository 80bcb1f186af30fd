import { expect, it } from 'vitest';
import { type ClosingRow, closingTable } from '../../../src/demo/alert-log.ts';

const row: ClosingRow = {
  fault: 'index loses documents',
  alert: { name: 'ndcg@10 below 0.8', severity: 'critical' },
  detectedAfter: { goldenRuns: 1, liveQueries: 50 },
  cause: 'index_lost_documents',
  falseAlerts: 0,
};

it('has a line for each fault, in columns', () => {
  const other: ClosingRow = {
    ...row,
    fault: 'x',
    alert: { name: 'density drift', severity: 'warning' },
    detectedAfter: { goldenRuns: 2, liveQueries: 1 },
    falseAlerts: 3,
  };
  expect(closingTable([row, other])).toEqual([
    'fault                  alarm                     detected after     diagnosis             false before',
    'index loses documents  ndcg@10 below 0.8 (page)  1 run, 50 queries  index_lost_documents  0',
    'x                      density drift (ticket)    2 runs, 1 query    index_lost_documents  3',
  ]);
});

it('says what never came', () => {
  const [, line] = closingTable([{ ...row, alert: null, detectedAfter: null, cause: null }]);
  expect(line?.split(/ {2,}/)).toEqual(['index loses documents', 'none', 'never', 'none', '0']);
});
