/** All that is stored, by what it is about: opened once, for the daemon and for commands. */
import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { createApiKeys } from '../access/api-keys.ts';
import { type AuditLog, createAuditLog } from '../access/audit-log.ts';
import { createConsoleSessions } from '../access/credentials.ts';
import { createCheckStore } from '../checks/check-store.ts';
import { type DensityTables, densityTables } from '../density/dependencies.ts';
import { createAnnotations, createDeployments } from '../deployments/deployments.ts';
import { createIncidents } from '../diagnosis/incidents.ts';
import { createGoldenBaselines } from '../golden/sql/golden-baselines.ts';
import { createGoldenBatches } from '../golden/sql/golden-batches.ts';
import { createGoldenDocuments } from '../golden/sql/golden-documents.ts';
import { createGoldenRotations } from '../golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../golden/sql/golden-runs.ts';
import { createGoldenSets } from '../golden/sql/golden-sets.ts';
import { createGoldenTicks } from '../golden/sql/golden-ticks.ts';
import { createRetrieverLimits } from '../golden/sql/retriever-limits.ts';
import { createRunReads } from '../golden/sql/run-results.ts';
import { createDocumentsTable, type DocumentsTable } from '../index-truth/documents-table.ts';
import { createReturnedReads, type ReturnedReads } from '../index-truth/read-hubs.ts';
import { createRoundsTable, type RoundsTable } from '../index-truth/rounds-table.ts';
import { createDeeperPools, type DeeperPools } from '../judging/deeper-pools.ts';
import { createEvaluationTable, type EvaluationTable } from '../judging/evaluation-table.ts';
import { createJudgeSpending, type JudgeSpending } from '../judging/judge-spending.ts';
import { createJudgedTable, type JudgedTable } from '../judging/judged-table.ts';
import { createPanelTable, type PanelTable } from '../judging/panel-table.ts';
import { createReviewQueue, type ReviewQueue } from '../judging/review-queue.ts';
import { createLiveCandidates, createLiveSamples } from '../live/sql/live-samples.ts';
import { createLiveTraffic } from '../live/sql/live-traffic.ts';
import { createLiveWindows } from '../live/sql/live-windows.ts';
import { createTrafficReads } from '../live/sql/traffic-reads.ts';
import { createMeasurements } from '../measures/measurements.ts';
import { createNotifications } from '../notifications/notify.ts';
import { createRelevanceTables, type RelevanceTables } from '../shadow/relevance-tables.ts';
import { createShadowTables, type ShadowTables } from '../shadow/shadow-tables.ts';
import { createVariantDaysTable, type VariantDaysTable } from '../variants/variants-reads.ts';

/** Names this process among those that share the database. */
export const replica = `${hostname()}-${process.pid}`;

export interface Tables {
  readonly keys: ReturnType<typeof createApiKeys>;
  readonly sessions: ReturnType<typeof createConsoleSessions>;
  readonly auditLog: AuditLog;
  readonly deployments: ReturnType<typeof createDeployments>;
  readonly annotations: ReturnType<typeof createAnnotations>;
  readonly measurements: ReturnType<typeof createMeasurements>;
  readonly traffic: ReturnType<typeof createLiveTraffic>;
  readonly trafficReads: ReturnType<typeof createTrafficReads>;
  readonly samples: ReturnType<typeof createLiveSamples>;
  readonly candidates: ReturnType<typeof createLiveCandidates>;
  readonly windows: ReturnType<typeof createLiveWindows>;
  readonly sets: ReturnType<typeof createGoldenSets>;
  readonly runs: ReturnType<typeof createGoldenRuns>;
  readonly runReads: ReturnType<typeof createRunReads>;
  readonly batches: ReturnType<typeof createGoldenBatches>;
  readonly ticks: ReturnType<typeof createGoldenTicks>;
  readonly rotations: ReturnType<typeof createGoldenRotations>;
  readonly baselines: ReturnType<typeof createGoldenBaselines>;
  readonly documents: ReturnType<typeof createGoldenDocuments>;
  readonly limits: ReturnType<typeof createRetrieverLimits>;
  readonly density: DensityTables;
  readonly densityStates: DensityTables['watch'];
  readonly topics: DensityTables['topics'];
  readonly indexDocuments: DocumentsTable;
  readonly indexRounds: RoundsTable;
  readonly returned: ReturnedReads;
  readonly judged: JudgedTable;
  readonly deeperPools: DeeperPools;
  readonly spending: JudgeSpending;
  readonly panels: PanelTable;
  readonly evaluations: EvaluationTable;
  readonly reviews: ReviewQueue;
  readonly shadows: ShadowTables;
  readonly variantDays: VariantDaysTable;
  readonly relevance: RelevanceTables;
  readonly checkStore: ReturnType<typeof createCheckStore>;
  readonly incidents: ReturnType<typeof createIncidents>;
  readonly notifications: ReturnType<typeof createNotifications>;
}

/** Everything, and the same to read from where it may lag behind: on the replica while it answers. */
export interface Database extends Tables {
  readonly reads: Tables;
}

export function openDatabase({ pool, readPool }: { readonly pool: Pool; readonly readPool: Pool }): Database {
  const tables = tablesOf(pool);
  return { ...tables, reads: readPool === pool ? tables : tablesOf(readPool) };
}

function tablesOf(pool: Pool): Tables {
  const density = densityTables(pool);
  return {
    keys: createApiKeys(pool),
    sessions: createConsoleSessions(pool),
    auditLog: createAuditLog(pool),
    deployments: createDeployments(pool),
    annotations: createAnnotations(pool),
    measurements: createMeasurements(pool),
    traffic: createLiveTraffic(pool, replica),
    trafficReads: createTrafficReads(pool),
    samples: createLiveSamples(pool),
    candidates: createLiveCandidates(pool),
    windows: createLiveWindows(pool),
    sets: createGoldenSets(pool),
    runs: createGoldenRuns(pool),
    runReads: createRunReads(pool),
    batches: createGoldenBatches(pool),
    ticks: createGoldenTicks(pool),
    rotations: createGoldenRotations(pool),
    baselines: createGoldenBaselines(pool),
    documents: createGoldenDocuments(pool),
    limits: createRetrieverLimits(pool),
    density,
    densityStates: density.watch,
    topics: density.topics,
    indexDocuments: createDocumentsTable(pool),
    indexRounds: createRoundsTable(pool),
    returned: createReturnedReads(pool),
    judged: createJudgedTable(pool),
    deeperPools: createDeeperPools(pool),
    spending: createJudgeSpending(pool),
    panels: createPanelTable(pool),
    evaluations: createEvaluationTable(pool),
    reviews: createReviewQueue(pool),
    shadows: createShadowTables(pool),
    variantDays: createVariantDaysTable(pool),
    relevance: createRelevanceTables(pool),
    checkStore: createCheckStore(pool),
    incidents: createIncidents(pool),
    notifications: createNotifications(pool),
  };
}
