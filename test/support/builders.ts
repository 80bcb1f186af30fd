/** Domain objects with default values, so that a test names only the values that matter. */

import type {
  FloorCheck,
  ForbiddenCheck,
  GoldenCheck,
  StaleLabelsCheck,
} from '../../src/checks/rules/golden-checks.ts';
import type { RegressionCheck } from '../../src/checks/rules/regression.ts';
import type { GoldenQuery, RetrievedDocument } from '../../src/core/model.ts';
import type { NewGoldenSet } from '../../src/golden/rules/golden-set.ts';
import type { GoldenRun, QueryAnswer, RunLabels, RunSettings, SegmentScore } from '../../src/golden/rules/run.ts';
import type { RerunNoise } from '../../src/golden/rules/run-noise.ts';
import type { LatestRun } from '../../src/golden/sql/latest-runs.ts';
import type { GoldenSchedule, WatchedPipeline } from '../../src/golden/watched-pipeline.ts';
import {
  type Alert,
  type Diagnosis,
  type Incident,
  updateTimelines,
} from '../../src/incidents/diagnosis/rules/incident.ts';
import type { Deployment } from '../../src/live/deployments/rules/deployment.ts';
import type { LiveQuery } from '../../src/live/rules/live-query.ts';

export const NOON = new Date('2026-11-20T12:00:00.000Z');

/** The query `q1` with one relevant document, `d1`. */
export function aGoldenQuery(parts: Partial<GoldenQuery> = {}): GoldenQuery {
  return {
    id: 'q1',
    text: 'How do I get my money back?',
    tags: {},
    judgments: [{ documentId: 'd1', grade: 1 }],
    ...parts,
  };
}

/** Queries `q1` to `q<count>`, each with one relevant document, `d1` to `d<count>`. */
export function goldenQueries(count: number): GoldenQuery[] {
  return Array.from({ length: count }, (_, i) =>
    aGoldenQuery({
      id: `q${i + 1}`,
      text: `question ${i + 1}`,
      judgments: [{ documentId: `d${i + 1}`, grade: 1 }],
    }),
  );
}

/** The query `q1` for the pipeline `docs`, for which a service sent only the text. */
export function aLiveQuery(parts: Partial<LiveQuery> = {}): LiveQuery {
  return {
    id: 'q1',
    pipeline: 'docs',
    occurredAt: null,
    text: 'what is it',
    embedding: null,
    topK: null,
    sessionId: null,
    traceId: null,
    episode: null,
    results: [],
    context: null,
    stages: [],
    latencyMs: null,
    error: null,
    segments: {},
    userId: null,
    versions: { index: null, embedder: null, retriever: null },
    upstreamProbability: 1,
    ...parts,
  };
}

/** Returns documents with these ids, best first; the scores decrease from 1. */
export function documents(...ids: readonly string[]): RetrievedDocument[] {
  return ids.map((id, index) => ({ id, score: 1 / (index + 1) }));
}

/** A response to `q1` with the document `d1`. */
export function anAnswer(parts: Partial<QueryAnswer> = {}): QueryAnswer {
  return {
    queryId: 'q1',
    outcome: 'ok',
    documents: documents('d1'),
    latencyMs: 12,
    attempts: 1,
    errorCode: null,
    errorMessage: null,
    ...parts,
  };
}

/** The answer to `q1` if the retriever fails. */
export function aFailedAnswer(parts: Partial<QueryAnswer> = {}): QueryAnswer {
  return anAnswer({
    outcome: 'error',
    documents: [],
    errorCode: 'http_500',
    errorMessage: 'it returned 500',
    ...parts,
  });
}

export function aRunSettings(parts: Partial<RunSettings> = {}): RunSettings {
  return {
    cutoffs: [1, 10],
    relevanceLevel: 1,
    concurrency: 4,
    maxPerSecond: 1000,
    onError: 'score_zero',
    errorBudget: 0.05,
    segmentKeys: [],
    maxSegments: 50,
    ...parts,
  };
}

/** An in-progress run of version 1 of the set `faq` on the pipeline `docs`, started at noon. */
export function aGoldenRun(parts: Partial<GoldenRun> = {}): GoldenRun {
  return {
    id: 'run-1',
    pipeline: 'docs',
    goldenSet: 'faq',
    goldenSetVersion: 1,
    purpose: 'full',
    trigger: 'schedule',
    cause: null,
    queryIds: null,
    scheduledFor: NOON,
    settings: aRunSettings(),
    startedAt: NOON,
    deadlineAt: new Date(NOON.getTime() + 3_600_000),
    status: 'running',
    finishedAt: null,
    queriesTotal: 3,
    reason: null,
    warnings: [],
    fingerprints: {},
    labels: noLabels,
    forbidden: null,
    noAnswer: null,
    stages: null,
    answersDeletedAt: null,
    ...parts,
  };
}

export function aFloor(parts: Partial<FloorCheck> = {}): FloorCheck {
  return { measure: 'ndcg@10', below: 0.8, severity: 'critical', ...parts };
}

/** A score of 0.9 for nDCG@10 over all queries. */
export function aScore(parts: Partial<SegmentScore> = {}): SegmentScore {
  return {
    segment: 'all',
    measure: 'ndcg',
    k: 10,
    mean: 0.9,
    n: 40,
    ciLow: 0.85,
    ciHigh: 0.95,
    ciMethod: 'bca',
    ...parts,
  };
}

/** The set `faq`, hourly. */
export function aSchedule(parts: Partial<GoldenSchedule> = {}): GoldenSchedule {
  return {
    set: 'faq',
    cron: { expression: '0 * * * *', timezone: 'UTC' },
    sentinel: null,
    timezone: 'UTC',
    quietHours: [],
    maxQueriesPerDay: null,
    rotationRuns: 0,
    keepAnswersMs: 180 * 86_400_000,
    settings: aRunSettings(),
    ...parts,
  };
}

/** The stored label data of a run that was not probed. */
export const noLabels: RunLabels = {
  probed: null,
  stale: null,
  deleted: null,
  lost: null,
  deadQueries: null,
  gap: null,
};

/** Golden checks of a pipeline: only the given checks. */
export function goldenChecks(
  parts: {
    readonly floors?: readonly FloorCheck[];
    readonly regressions?: readonly RegressionCheck[];
    readonly staleLabels?: readonly StaleLabelsCheck[];
    readonly forbidden?: readonly ForbiddenCheck[];
  } = {},
): GoldenCheck[] {
  const { floors = [], regressions = [], staleLabels = [], forbidden = [] } = parts;
  return [
    ...floors.map((check) => ({ ...check, kind: 'floor' as const })),
    ...regressions.map((check) => ({ ...check, kind: 'regression' as const })),
    ...staleLabels.map((check) => ({ ...check, kind: 'stale_labels' as const })),
    ...forbidden.map((check) => ({ ...check, kind: 'forbidden_results' as const })),
  ];
}

/** The pipeline `docs`, whose retriever must not be called. */
export function aWatchedPipeline(parts: Partial<WatchedPipeline> = {}): WatchedPipeline {
  const retriever = { retrieve: () => Promise.reject(new Error('this retriever must not be asked')) };
  return {
    name: 'docs',
    retriever,
    store: null,
    embedder: null,
    annRecall: { queries: 20, k: 10 },
    timeoutMs: 2000,
    golden: [aSchedule()],
    checks: [],
    thresholds: [],
    isolation: [],
    shadows: [],
    shadowOf: null,
    close: async () => undefined,
    ...parts,
  };
}

/** The exporter's data about a run that completed at noon. */
export function aCompletedRun(
  parts: Partial<NonNullable<LatestRun['completed']>> = {},
): NonNullable<LatestRun['completed']> {
  return {
    startedAt: new Date(NOON.getTime() - 60_000),
    finishedAt: NOON,
    scores: [aScore()],
    segmentsOverflow: 0,
    labels: noLabels,
    baseline: null,
    ...parts,
  };
}

/** A run of `faq` on `docs` that completed at noon after one minute. */
export function aLatestRun(parts: Partial<LatestRun> = {}): LatestRun {
  return {
    pipeline: 'docs',
    goldenSet: 'faq',
    lastAttemptAt: new Date(NOON.getTime() - 60_000),
    runsByStatus: { running: 0, completed: 1, void: 0, failed: 0, cancelled: 0 },
    ended: {
      durationSeconds: 60,
      outcomes: { ok: 40, empty: 0, error: 0, timeout: 0 },
      failure: null,
      failedBecause: null,
      forbidden: null,
      checks: [],
      finishedAt: NOON,
    },
    completed: aCompletedRun(),
    ...parts,
  };
}

/** The set `faq` with three queries. */
export function aNewGoldenSet(parts: Partial<NewGoldenSet> = {}): NewGoldenSet {
  return { name: 'faq', contentHash: 'hash-1', format: 'csv', queries: goldenQueries(3), ...parts };
}

/** A diagnosis of the pipeline `docs`, whose retriever is down. */
export function aDiagnosis(parts: Partial<Diagnosis> = {}): Diagnosis {
  return {
    pipeline: 'docs',
    cause: 'retriever_outage',
    confidence: 'high',
    probability: 0.97,
    summary: 'Likely cause: the retriever is down (high confidence, 97 %).',
    also: [],
    weighed: [],
    effects: [],
    failedShare: null,
    alerts: ['golden queries of faq fail'],
    runId: 'run-1',
    referenceRunId: null,
    ranked: [],
    signs: [],
    ...parts,
  };
}

export function anAlert(parts: Partial<Alert> = {}): Alert {
  const text = '100.0 % of the queries in the latest run of faq failed or timed out.';
  return {
    name: 'golden queries of faq fail',
    rule: 'RecalldRetrieverNotAnswering',
    severity: 'critical',
    goldenSet: 'faq',
    headline: 'retriever down (HTTP 503)',
    text,
    value: 1,
    threshold: 0.05,
    ...parts,
  };
}

/** An incident that has been open for an hour and has been evaluated twice. */
export function anIncident(parts: Partial<Incident> = {}): Incident {
  return {
    ...aDiagnosis(),
    id: '7',
    openedAt: NOON,
    closedAt: null,
    closedBecause: null,
    severity: 'critical',
    confirmedAt: new Date(NOON.getTime() + 60_000),
    diagnosedAt: NOON,
    timeline: updateTimelines([], [anAlert()], NOON),
    earlier: [],
    acknowledgedAt: null,
    acknowledgedBy: null,
    mark: null,
    ...parts,
  };
}

/** Noise of a retriever whose scores vary for a tenth of 100 queries; a test names only the values that matter. */
export function aRerunNoise(noise: Partial<RerunNoise> = {}): RerunNoise {
  return {
    reruns: 10,
    standardDeviation: 0.01,
    sharedVariance: 0,
    queries: 100,
    moved: 10,
    ofQueries: 0.005,
    isConstant: false,
    ...noise,
  };
}

/** A deployment of the retriever that a person recorded. */
export function aDeployment(parts: Partial<Deployment> = {}): Deployment {
  return {
    id: '1',
    pipeline: 'docs',
    kind: 'retriever',
    version: 'v8',
    note: null,
    occurredAt: NOON,
    source: 'annotated',
    changes: [],
    ...parts,
  };
}
