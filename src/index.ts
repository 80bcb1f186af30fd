/**
 * recalld as a library: the exact measures of retrieval, the comparison of runs, drift of query embeddings, and the
 * daemon inside of another Node.js process. What a service sends its live queries with is `recalld/client`.
 *
 *   import { evaluateRanking, parseMetricKey } from 'recalld';
 *   const [ndcg] = evaluateRanking(['d3', 'd1'], new Map([['d1', 1]]), [parseMetricKey('ndcg@10')], 1);
 *
 * What is exported here follows semantic versioning; nothing else inside of the package does.
 */

export {
  compareTrecFiles,
  type OfflineComparison,
  type OfflineComparisonRequest,
} from './app/commands/offline-comparison.ts';
export {
  compareVectorFiles,
  type OfflineDrift,
  type OfflineDriftRequest,
} from './app/commands/offline-drift.ts';
export {
  evaluateTrecFiles,
  type OfflineEvaluation,
  type OfflineEvaluationRequest,
} from './app/commands/offline-evaluation.ts';
export { loadConfig } from './app/config-file.ts';
export { type Monitor, type MonitorSettings, type Role, roles, startMonitor } from './app/monitor.ts';
export { version } from './app/version.ts';
export { compareRuns, type RunComparison, type RunsToCompare } from './core/comparison/compare-runs.ts';
export { type ComparisonSettings, defaultMinEffect } from './core/comparison/settings.ts';
export { RecalldError } from './core/errors.ts';
export {
  createEvaluator,
  type Evaluator,
  evaluateRanking,
  type GradeByDocument,
} from './core/ir/evaluate.ts';
export { formatMetricKey, type Measure, type MetricKey, parseMetricKey } from './core/ir/metric-key.ts';
export {
  applyDuplicatePolicy,
  type DuplicatePolicy,
  orderLikeTrecEval,
  type Ranking,
  type ScoredDocuments,
} from './core/ir/ranking.ts';
export { type MetricSummary, summarize } from './core/stats/summary.ts';
export type { Logger } from './ports/telemetry.ts';
