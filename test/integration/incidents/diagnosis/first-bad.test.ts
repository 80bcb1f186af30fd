/** An incident is compared with the state before the first bad measurement, on real tables. */

import { expect, it } from 'vitest';
import { createDb } from '../../../../src/app/database.ts';
import { evaluateChecks } from '../../../../src/checks/evaluate-checks.ts';
import { evaluateGoldenRun } from '../../../../src/checks/rules/golden-checks.ts';
import type { ThresholdCheck } from '../../../../src/checks/rules/threshold.ts';
import { statisticsOfCommands as statistics } from '../../../../src/golden/golden-statistics.ts';
import { noStatistics, toCompared } from '../../../../src/golden/rules/compare-golden-runs.ts';
import type { QueryAnswer } from '../../../../src/golden/rules/run.ts';
import type { WatchedPipeline } from '../../../../src/golden/watched-pipeline.ts';
import { diagnoseNow } from '../../../../src/incidents/diagnosis/diagnose-pipeline.ts';
import {
  aNewGoldenSet,
  anAnswer,
  aRunSettings,
  aWatchedPipeline,
  documents,
  goldenChecks,
  goldenQueries,
} from '../../../support/builders.ts';
import { contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { aRun } from '../../../support/golden-runs.ts';
import { HandClock } from '../../../support/hand-clock.ts';
import { silentLogger } from '../../../support/log.ts';
import { hours } from '../../../support/measurements.ts';

const database = useDatabase();
const never = new AbortController().signal;

const queries = goldenQueries(40);
/** Nine unjudged documents, with the query's relevant document among them. */
const rightAnswer = (index: number) => ['a', 'b', 'c', 'd', `d${index + 1}`, 'e', 'f', 'g', 'h', 'i'];

let pipelinesMade = 0;

/** A separate pipeline whose runs have the outcomes that a test sets. */
async function aWorld(parts: Partial<WatchedPipeline>) {
  const { pool } = database;
  const pipeline = aWatchedPipeline({ name: `looked-at-${(pipelinesMade += 1)}`, ...parts });
  const [clock, logger] = [new HandClock(hours(0)), silentLogger];
  const db = createDb(pool);
  const { sets, runs } = db.golden;
  await sets.add(aNewGoldenSet({ queries }), hours(0));
  const settings = aRunSettings({ cutoffs: [10] });
  const deps = contextOf({
    db,
    pipelines: [pipeline],
    ownLag: null,
    densityPlans: [],
    intervalSeconds: () => 3600,
    liveIntervalSeconds: 300,
    clock,
    logger,
  });
  const past: { id: string; answers: readonly QueryAnswer[] }[] = [];
  /** Stores a run at the given hour, and compares it with the first run as the daemon would. @returns its id */
  const ran = async (hour: number, ids: (index: number) => readonly string[], latencyMs = 20): Promise<string> => {
    const { id } = aRun();
    clock.set(hours(hour));
    await runs.create(
      aRun({ id, pipeline: pipeline.name, settings, startedAt: hours(hour), deadlineAt: hours(hour + 1) }),
    );
    const answers = queries.map((query, index) =>
      anAnswer({ queryId: query.id, documents: documents(...ids(index)), latencyMs: latencyMs + (index % 5) }),
    );
    await runs.saveAnswers(id, answers);
    past.push({ id, answers });
    const sideOf = (one: { readonly answers: readonly QueryAnswer[] }) => ({ queries, answers: one.answers, settings });
    const [first = { id, answers }] = past;
    const compared = await Promise.all(
      past.map(async (one) => {
        const differences = await statistics.compareRuns(sideOf(first), sideOf(one), new Set(), noStatistics, never);
        return { id: one.id, comparison: { against: first.id, differences: differences ?? [] } };
      }),
    );
    const ofRuns = compared.map((one) => toCompared(one.id, one.comparison));
    const { scores } = await statistics.scoreRun(queries, answers, settings, new Set(), never);
    const current = ofRuns.at(-1) ?? 'nothing to compare with';
    const labels = { kind: 'unknown', reason: 'nobody looked' } as const;
    const checks = evaluateGoldenRun(pipeline.checks, 'faq', {
      scores,
      compared: current,
      history: ofRuns.slice(0, -1),
      labels,
      forbidden: null,
    });
    await runs.finish(id, {
      status: 'completed',
      reason: null,
      warnings: [],
      finishedAt: hours(hour + 0.1),
      scores,
      checks,
      segmentsOverflow: 0,
      labels: null,
      forbidden: null,
      noAnswer: null,
      stages: null,
      fingerprints: {},
      comparisons: compared.slice(-1).map(({ comparison }) => ({ kind: 'baseline', ...comparison })),
    });
    clock.set(hours(hour + 0.2));
    await evaluateChecks(deps);
    return id;
  };
  return { ran, diagnose: () => diagnoseNow(deps, pipeline) };
}

const slow: ThresholdCheck = {
  measure: 'retriever_latency_p95_seconds',
  threshold: 0.2,
  severity: 'critical',
  segments: 'all',
  minN: 20,
  confirm: 3,
  noData: 'silent',
};

it('a slow retriever is compared with the fast one, not with the first slow runs that were not confirmed', async () => {
  const { ran, diagnose } = await aWorld({ thresholds: [slow] });
  await ran(1, rightAnswer);
  const good = await ran(2, rightAnswer);
  await ran(3, rightAnswer, 300);
  await ran(4, rightAnswer, 300);
  expect(await diagnose()).toBeNull();
  const confirmed = await ran(5, rightAnswer, 300);
  expect(await diagnose()).toMatchObject({ cause: 'retriever_slow', runId: confirmed, referenceRunId: good });
  expect((await diagnose())?.summary).toContain('Calls took 304 ms (95th percentile); previously, they took 24 ms.');
});

it('a regression that two runs confirm is compared with the run before both', async () => {
  const regression = { measure: 'ndcg@10', drop: 0.02, alpha: 0.05, severity: 'critical', runs: 2 } as const;
  const { ran, diagnose } = await aWorld({ checks: goldenChecks({ regressions: [regression] }) });
  await ran(1, rightAnswer);
  const good = await ran(2, rightAnswer);
  const cut = (index: number) => rightAnswer(index).slice(0, 3);
  await ran(3, cut);
  expect(await diagnose()).toBeNull();
  const confirmed = await ran(4, cut);
  expect(await diagnose()).toMatchObject({ cause: 'cut_off_answers', runId: confirmed, referenceRunId: good });
});

it('a slowdown without timeouts is not reported as a cause of lower scores', async () => {
  const floor = { measure: 'ndcg@10', below: 0.3, severity: 'critical' } as const;
  const { ran, diagnose } = await aWorld({ checks: goldenChecks({ floors: [floor] }) });
  await ran(1, rightAnswer, 60);
  await ran(2, (index) => rightAnswer((index + 7) % 40), 300);
  const found = await diagnose();
  expect(found?.cause).not.toBe('retriever_slow');
  expect(found?.ranked.find(({ cause }) => cause === 'retriever_slow')?.probability).toBe(0);
});
