import { expect, it } from 'vitest';
import { runPage } from '../../../../src/golden/edge/pages/run-page.ts';
import { summarizeRun } from '../../../../src/golden/runs/run-summary.ts';
import { createGoldenRuns } from '../../../../src/golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import type { ExplainedRun } from '../../../../src/incidents/explain/answers.ts';
import { readTimeRange } from '../../../../src/report/console/links.ts';
import { renderPage } from '../../../../src/report/console/render.tsx';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { anEnd, putRun } from '../../../support/golden-runs.ts';

const database = useDatabase();

/** Renders the page of a run that ended with `end`. */
async function shown(end: Parameters<typeof anEnd>[0], explained: ExplainedRun | null): Promise<string> {
  const stores = { runs: createGoldenRuns(database.pool), sets: createGoldenSets(database.pool) };
  const run = await putRun(stores, {}, { end: anEnd({ scores: [], checks: [], ...end }) });
  const range = readTimeRange({ range: '7d' }, NOON);
  const frame = { path: '/', query: {}, range, now: NOON, visitor: null, version: '1', notice: null };
  const queries = {
    view: 'worst',
    by: 'ndcg@10',
    measures: [] as string[],
    rows: [],
    showsText: true,
    total: 0,
    page: 1,
    against: null,
    chosenAgainst: null,
  } as const;
  const data = {
    run,
    summary: await summarizeRun(stores.runs, run),
    previous: null,
    from: NOON,
    trends: new Map(),
    deployments: [],
    notes: [],
    baseline: null,
    diagnosis: null,
    queries,
    explained,
  };
  return renderPage(frame, runPage(data));
}

it('the run page shows doubts about the golden set above the scores of the run', async () => {
  const doubt = 'None of the 40 returned documents is judged: the set has d1, and the retriever returned kb-1.';
  const html = await shown({ warnings: [doubt] }, null);
  expect(html).toContain(doubt);
  expect(html.indexOf(doubt)).toBeLessThan(html.indexOf('id="scores"'));
});

it('the run page shows the loss by stage as one bar that adds up to 100 %, and a summary of explained misses', async () => {
  const share = (mean: number) => ({
    mean,
    n: 40,
    ciLow: mean / 2,
    ciHigh: (1 + mean) / 2,
    ciMethod: 'wilson' as const,
  });
  const step = { moved: null, latencyP95Ms: null, timed: 0 };
  const stages = {
    k: 10,
    n: 40,
    failed: 4,
    unreported: 0,
    lostToFailures: share(0.1),
    steps: [
      { ...step, name: 'candidates', recall: share(0.8), lost: share(0.1) },
      { ...step, name: 'answer', recall: share(0.5), lost: share(0.3) },
    ],
  };
  const miss = {
    queryId: 'q1',
    question: { text: 'how?', tags: {}, k: 10 },
    document: 'kb-1',
    words: new Map<string, string>(),
    rank: 12,
    evidence: ['Copies.'],
    action: '',
    stages: [],
  };
  const explained: ExplainedRun = {
    misses: 3,
    explained: [
      { ...miss, verdict: 'gone', outrankedBy: null },
      { ...miss, verdict: 'outranked', outrankedBy: 'near_duplicates', document: 'kb-2' },
      { ...miss, verdict: 'outranked', outrankedBy: 'near_duplicates', document: 'kb-3' },
    ],
  };
  const html = await shown({ stages }, explained);
  expect(html).toContain('found 50 %, cut off or ranked too low 30 %, never in candidates 10 %, failed 10 %');
  const widths = [...html.matchAll(/<rect x="[\d.]+%" y="0" width="([\d.]+)%"/g)].map(([, width]) => Number(width));
  expect(widths.reduce((sum, width) => sum + width, 0)).toBeCloseTo(100, 6);
  expect(html).toContain('Of 3 misses: 2 outranked by near duplicates, 1 gone.');
});
