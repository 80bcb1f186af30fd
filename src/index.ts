/**
 * recalld as a library: computes exact retrieval measures, compares runs, measures drift of query embeddings, and runs
 * the daemon inside another Node.js process. Services send their live queries with `recalld/client`.
 *
 *   import { evaluateRanking, parseMetricKey } from 'recalld';
 *   const [ndcg] = evaluateRanking(['d3', 'd1'], new Map([['d1', 1]]), [parseMetricKey('ndcg@10')], 1);
 *
 * Only the exports of this file follow semantic versioning.
 */

export { loadConfig } from './app/config/load.ts';
export { type Monitor, type MonitorRequest, type Role, roles, startMonitor } from './app/serve.ts';
export { version } from './app/version.ts';
export { RecalldError } from './core/errors.ts';
export type { Logger } from './core/logger.ts';
export {
  compareVectorFiles,
  type OfflineDrift,
  type OfflineDriftRequest,
} from './density/offline-drift.ts';
export {
  compareRuns,
  type RunComparison,
  type RunsToCompare,
} from './golden/rules/compare-runs.ts';
export { type ComparisonSettings, defaultMinEffect } from './golden/rules/verdict.ts';
export {
  compareTrecFiles,
  type OfflineComparison,
  type OfflineComparisonRequest,
} from './golden/trec/compare-trec.ts';
export {
  evaluateTrecFiles,
  type OfflineEvaluation,
  type OfflineEvaluationRequest,
} from './golden/trec/score-runs.ts';
export {
  createEvaluator,
  type Evaluator,
  evaluateRanking,
  type GradeByDocument,
} from './math/ir/evaluate.ts';
export { formatMetricKey, type Measure, type MetricKey, parseMetricKey } from './math/ir/metric-key.ts';
export {
  applyDuplicatePolicy,
  type DuplicatePolicy,
  orderLikeTrecEval,
  type Ranking,
  type ScoredDocuments,
} from './math/ir/ranking.ts';
export { type MetricSummary, summarize } from './math/stats/descriptive.ts';
