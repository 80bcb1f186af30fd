import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { expect, it } from 'vitest';
import { readTimeRange } from '../../../src/console/time-range.ts';
import { RunPage } from '../../../src/golden/pages/run-page.tsx';
import { summarizeRun } from '../../../src/golden/runs/run-summary.ts';
import { aGoldenRun, NOON } from '../../support/builders.ts';
import { MemoryGoldenRuns } from '../../support/memory-golden-runs.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

it('says above the scores of a run what looks like a mistake of the set', async () => {
  const doubt = 'None of the 40 returned documents is judged: the set has d1, the retriever returned kb-1.';
  const run = aGoldenRun({ status: 'completed', finishedAt: NOON, doubts: [doubt] });
  const runs = new MemoryGoldenRuns(new SteerableClock());
  runs.put(run, []);
  const range = readTimeRange({ range: '7d' }, NOON);
  const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
  const queries = {
    view: 'worst',
    by: 'ndcg@10',
    measures: [],
    rows: [],
    total: 0,
    page: 1,
    pageSize: 50,
    against: null,
    chosenAgainst: null,
  } as const;
  const data = {
    run,
    summary: await summarizeRun(runs, run),
    history: [],
    deployments: [],
    notes: [],
    isBaseline: false,
    diagnosis: null,
    queries,
  };
  const html = renderToString(h(RunPage, { frame, data }));
  expect(html).toContain(doubt);
  expect(html.indexOf(doubt)).toBeLessThan(html.indexOf('id="scores"'));
});
