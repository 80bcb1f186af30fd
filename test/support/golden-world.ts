/** A scheduled golden set in a real database. The test sets the time; everything else is the real code. */

import type { Pool } from 'pg';
import { createDb } from '../../src/app/database.ts';
import { readCheckGauges } from '../../src/checks/check-store.ts';
import { evaluateChecks } from '../../src/checks/evaluate-checks.ts';
import type { Retriever } from '../../src/connectors/retrievers/retriever.ts';
import { systemClock } from '../../src/core/system-clock.ts';
import { readScheduleGauges } from '../../src/golden/gauges.ts';
import { statisticsOfCommands as statistics } from '../../src/golden/golden-statistics.ts';
import type { GoldenRun, RunPurpose } from '../../src/golden/rules/run.ts';
import { advanceRotation } from '../../src/golden/runs/rotate-golden-set.ts';
import { runGoldenSet } from '../../src/golden/runs/run-golden-set.ts';
import { escalateSentinel, tickGoldenSet } from '../../src/golden/runs/tick-golden-set.ts';
import { createTimetable } from '../../src/golden/timetable.ts';
import type { GoldenSchedule, WatchedPipeline } from '../../src/golden/watched-pipeline.ts';
import { readStoredGauges } from '../../src/report/status/publish.ts';
import { aNewGoldenSet, aRunSettings, aSchedule, aWatchedPipeline, documents } from './builders.ts';
import { contextOf } from './context.ts';
import { MemoryJobQueue } from './memory-job-queue.ts';
import { MemoryLogger } from './memory-telemetry.ts';
import { samplesOf } from './stored-gauges.ts';

/** Documents for a query, best first; null if the retriever fails. */
export type Answers = (text: string) => readonly string[] | null;

let worlds = 0;

export function aGoldenWorld(
  pool: Pool,
  start: Date,
  golden: Partial<GoldenSchedule> = {},
  parts: Partial<WatchedPipeline> = {},
) {
  let nowMs = start.getTime();
  let answers: Answers = () => [];
  const asked: string[] = [];
  const clock = { ...systemClock, now: () => new Date(nowMs) };
  const logger = new MemoryLogger();
  const world = (worlds += 1);
  const settings = aRunSettings({ maxPerSecond: 10_000 });
  const own = aSchedule({ set: `faq-${world}`, settings, ...golden });
  const retriever: Retriever = {
    async retrieve({ text }) {
      asked.push(text);
      const ids = answers(text);
      const common = { latencyMs: 1, attempts: 1 };
      return ids === null
        ? { kind: 'error', code: 'http_500', message: 'it returned 500', ...common }
        : { kind: 'documents', documents: documents(...ids), ...common };
    },
  };
  const pipeline = aWatchedPipeline({ name: `docs-${world}`, retriever, golden: [own], ...parts });
  let ids = 0;
  const db = createDb(pool);
  const stores = db.golden;
  const timetable = createTimetable(start);
  const deps = contextOf({
    db,
    reads: db,
    clock,
    logger,
    statistics,
    holder: 'me',
    newRunId: () => `run-${world}-${(ids += 1)}`,
    pipelines: [pipeline],
    timetable,
    densityPlans: [],
    intervalSeconds: () => timetable.intervalSeconds(own),
    liveIntervalSeconds: 300,
    queue: new MemoryJobQueue(),
  });
  async function work(runId: string): Promise<GoldenRun> {
    const run = await stores.runs.find(runId);
    if (run === null) throw new Error(`there is no run ${runId}`);
    await runGoldenSet(deps, run, pipeline, new AbortController().signal);
    if (run.purpose === 'full') await advanceRotation(deps, run, pipeline, new AbortController().signal);
    else
      await escalateSentinel(
        contextOf(deps, { hooks: { resume: async ({ id }) => void (await work(id)) } }),
        run.id,
        pipeline,
      );
    return (await stores.runs.find(runId)) ?? run;
  }

  const tick = async (purpose: RunPurpose, plannedAt: Date, schedulers: number): Promise<GoldenRun[]> => {
    nowMs = plannedAt.getTime();
    const ticking = Array.from({ length: schedulers }, () => tickGoldenSet(deps, pipeline, own, purpose, plannedAt));
    const started = (await Promise.all(ticking)).flat();
    const ended: GoldenRun[] = [];
    for (const id of started) ended.push(await work(id));
    return ended;
  };

  return {
    ...stores,
    deployments: db.live.deployments,
    limits: db.limits,
    statistics,
    deps,
    pipeline,
    golden: own,
    logger,
    asked,
    work,
    answerWith(next: Answers): void {
      answers = next;
    },
    moveTo(now: Date): void {
      nowMs = now.getTime();
    },
    importSet: (queries: Parameters<typeof aNewGoldenSet>[0] & object, now = clock.now()) =>
      stores.sets.add(aNewGoldenSet({ name: own.set, ...queries }), now),
    full: (plannedAt: Date, schedulers = 1) => tick('full', plannedAt, schedulers),
    sentinel: (plannedAt: Date, schedulers = 1) => tick('sentinel', plannedAt, schedulers),
    async gauges() {
      await evaluateChecks(deps);
      const gauges = await readStoredGauges(deps, [readScheduleGauges, readCheckGauges]);
      const samples = samplesOf(gauges(clock.now()));
      return (name: string, labels: Readonly<Record<string, string>> = {}): number | undefined =>
        samples.find(
          (sample) =>
            sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
        )?.value;
    },
  };
}
