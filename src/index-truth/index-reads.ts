/** How the index of a pipeline stands, for commands and pages. */
import type { Clock } from '../clock.ts';
import type { Deployments } from '../deployments/deployments.ts';
import type { Deployment } from '../deployments/rules/deployment.ts';
import type { GoldenRun } from '../golden/rules/run.ts';
import type { ForbiddenResult } from '../golden/rules/unwanted-answers.ts';
import type { GoldenRuns } from '../golden/sql/golden-runs.ts';
import type { LatestMeasurement, Measurements } from '../measures/measurements.ts';
import type { VectorStore } from '../stores/vector-store.ts';
import { DAY_MS } from '../time.ts';
import type { DocumentsTable } from './documents-table.ts';
import { indexMeasureNames } from './measure-index.ts';
import type { IndexPlan } from './plan.ts';
import { type HubsReport, type ReturnedReads, readHubs } from './read-hubs.ts';
import type { NamedDocument, RoundsTable } from './rounds-table.ts';
import { findingKinds, type NamedKind } from './rules/findings.ts';

export interface FoundOfKind {
  readonly kind: NamedKind;
  readonly count: number;
  /** Those that were found first. */
  readonly documents: readonly NamedDocument[];
}

export interface IndexStanding {
  /** When the last whole round ended. */
  readonly checkedAt: Date | null;
  /** That the manifest names. */
  readonly documents: number | null;
  readonly measures: readonly LatestMeasurement[];
  readonly found: readonly FoundOfKind[];
}

export interface IndexReads {
  readonly indexRounds: Pick<RoundsTable, 'standings' | 'countFindings' | 'findings'>;
  readonly indexDocuments: Pick<DocumentsTable, 'late'>;
  readonly indexPlans: readonly Pick<IndexPlan, 'pipeline' | 'lateAfterMs'>[];
  readonly measurements: Pick<Measurements, 'latest'>;
}

export async function readIndexStanding(
  { indexRounds, indexDocuments, indexPlans, measurements }: IndexReads,
  pipeline: string,
  now: Date,
  most: number,
): Promise<IndexStanding> {
  const standing = (await indexRounds.standings()).find((one) => one.pipeline === pipeline);
  const counts = await indexRounds.countFindings(pipeline);
  const found: FoundOfKind[] = [];
  for (const kind of findingKinds) {
    const documents = await indexRounds.findings(pipeline, kind, most);
    found.push({ kind, count: counts.get(kind)?.count ?? 0, documents });
  }
  const plan = indexPlans.find((one) => one.pipeline === pipeline);
  if (plan !== undefined) {
    const until = new Date(now.getTime() - plan.lateAfterMs);
    found.push({ kind: 'late', ...(await indexDocuments.late(pipeline, until, most)) });
  }
  const latest = await measurements.latest(now);
  return {
    checkedAt: standing?.endedAt ?? null,
    documents: standing?.documents ?? null,
    measures: latest
      .filter((one) => one.pipeline === pipeline && placeOf(one) >= 0)
      .toSorted((a, b) => placeOf(a) - placeOf(b)),
    found,
  };
}

export interface IndexPageData extends IndexStanding {
  readonly pipeline: string;
  /** Whether the config has `index` for it. */
  readonly isIndexed: boolean;
  /** What the latest golden runs and sentinels brought although their sets forbid it. */
  readonly leaks: readonly Leak[];
  /** What came back for the questions of the last days. */
  readonly returned: HubsReport;
  /** Whether chunks were drawn from the store to find those that never come back. */
  readonly isDrawn: boolean;
  readonly deployments: readonly Deployment[];
  readonly now: Date;
}

/** A forbidden document that came back, asked twice. */
export interface Leak extends ForbiddenResult {
  readonly goldenSet: string;
  readonly runId: string;
  /** End of the first of the runs in a row that brought it. */
  readonly since: Date;
}

export interface IndexPageDeps extends IndexReads {
  readonly measurements: Pick<Measurements, 'latest' | 'series'>;
  readonly deployments: Deployments;
  readonly runs: GoldenRuns;
  readonly returned: ReturnedReads;
  readonly clock: Clock;
  /** Of a pipeline that has none, null. */
  readonly storeOf: (pipeline: string) => VectorStore | null;
}

const LISTED_DOCUMENTS = 50;
const LISTED_DEPLOYMENTS = 5;
/** A page is read often, so that it looks at less than the command. */
const HUBS_MS = 7 * DAY_MS;
const looked = { k: 10, most: 5000 };
const DRAWN_CHUNKS = 1000;
/** A page is waited for no longer. */
const DRAW_LIMIT_MS = 30_000;

export async function readIndexPage(
  deps: IndexPageDeps,
  pipeline: string,
  isIndexed: boolean,
  isDrawn: boolean,
): Promise<IndexPageData> {
  const { deployments, runs, returned, clock, storeOf } = deps;
  const now = clock.now();
  const standing = await readIndexStanding(deps, pipeline, now, LISTED_DOCUMENTS);
  const latest = await deployments.list({ pipeline, limit: LISTED_DEPLOYMENTS });
  const window = { pipeline, since: new Date(now.getTime() - HUBS_MS), ...looked, chunks: isDrawn ? DRAWN_CHUNKS : 0 };
  return {
    ...standing,
    pipeline,
    isIndexed,
    leaks: await readLeaks(runs, pipeline),
    returned: await readHubs(returned, storeOf(pipeline), window, AbortSignal.timeout(DRAW_LIMIT_MS)),
    isDrawn,
    deployments: latest,
    now,
  };
}

/** More golden sets of one pipeline than have ended a run, or a sentinel, of theirs among so many. */
const RUNS_LOOKED_THROUGH = 50;

/** Of the latest run of each golden set that asked for forbidden documents; sentinels ask for all of them too. */
async function readLeaks(runs: IndexPageDeps['runs'], pipeline: string): Promise<Leak[]> {
  const recent = await Promise.all(
    (['full', 'sentinel'] as const).map((purpose) => runs.list({ pipeline, purpose, limit: RUNS_LOOKED_THROUGH })),
  );
  const asked = recent
    .flat()
    .filter(({ forbidden }) => (forbidden?.asked ?? 0) > 0)
    .toSorted((a, b) => endOf(b).getTime() - endOf(a).getTime());
  const leaks: Leak[] = [];
  for (const goldenSet of new Set(asked.map((run) => run.goldenSet)))
    leaks.push(
      ...(await leaksOf(
        runs,
        asked.filter((run) => run.goldenSet === goldenSet),
      )),
    );
  return leaks;
}

/** @param ended of one golden set, the latest first */
async function leaksOf(runs: IndexPageDeps['runs'], ended: readonly GoldenRun[]): Promise<Leak[]> {
  let leaks: readonly Leak[] = [];
  let still = new Set<string>();
  for (const [place, run] of ended.entries()) {
    const { id: runId, goldenSet } = run;
    const results = await runs.forbidden(runId);
    const since = endOf(run);
    if (place === 0) leaks = results.map((result) => ({ ...result, goldenSet, runId, since }));
    const brought = new Set(results.map(keyOf));
    still = place === 0 ? brought : new Set([...still].filter((key) => brought.has(key)));
    if (still.size === 0) break;
    leaks = leaks.map((leak) => (still.has(keyOf(leak)) ? { ...leak, since } : leak));
  }
  return [...leaks];
}

function endOf({ finishedAt, startedAt }: GoldenRun): Date {
  return finishedAt ?? startedAt;
}

function keyOf({ queryId, documentId }: ForbiddenResult): string {
  return JSON.stringify([queryId, documentId]);
}

function placeOf({ measure }: LatestMeasurement): number {
  return indexMeasureNames.indexOf(measure);
}
