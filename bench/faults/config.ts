/** The recalld.yaml of a world: it uses every feature that needs no manual work. */
import { stringify } from 'yaml';
import { isBilingual } from './service.ts';
import type { Shape } from './shape.ts';

export const PIPELINE = 'docs';
export const GOLDEN_SET = 'golden';

/** Maximum number of queries per second: practically unlimited, because the service runs in this process. */
const MAX_PER_SECOND = 10_000;
/** Maximum latency in seconds, which is far above the duration of a search even on a busy machine. */
const MAX_LATENCY = 0.3;
export const TIMEOUT_MS = 3000;
/** Timeout that is never reached, because the store and the embedder run in this process and are never slow. */
const STORE_TIMEOUT_MS = 60_000;
/** Difference between the healthy score and the threshold of the check. */
const FLOOR_BELOW = 0.12;

interface ConfigSettings {
  readonly shape: Shape;
  readonly databaseUrl: string;
  readonly ragUrl: string;
  readonly store: object;
  /** nDCG@10 of the healthy service. */
  readonly healthy: number;
}

export function worldConfig({ shape, databaseUrl, ragUrl, store, healthy }: ConfigSettings): string {
  const tags = isBilingual(shape.corpus) ? ['topic', 'language'] : ['topic'];
  return stringify({
    server: { port: 0, max_requests_per_minute: 10_000_000 },
    storage: { url: databaseUrl, pool_size: 30 },
    log: { level: 'error' },
    notify: [{ kind: 'webhook', url: `${ragUrl}/hook`, min_severity: 'warning' }],
    pipelines: [
      {
        name: PIPELINE,
        retriever: {
          kind: 'http',
          url: `${ragUrl}/search`,
          body: {
            query: '{{text}}',
            k: '{{k}}',
            segments: Object.fromEntries(tags.map((tag) => [tag, `{{tags.${tag}}}`])),
          },
          results: { list: 'results', id: 'id', score: 'score' },
          timeout_ms: TIMEOUT_MS,
          retries: 0,
        },
        vector_store: { ...store, timeout_ms: STORE_TIMEOUT_MS },
        embedder: {
          kind: 'openai',
          base_url: `${ragUrl}/v1`,
          model: shape.encoder,
          retries: 0,
          timeout_ms: STORE_TIMEOUT_MS,
          max_per_second: MAX_PER_SECOND,
        },
        sampling: { rate: 1, max_per_minute: 100_000 },
        segments: { keys: tags },
        live: { window: '1h' },
        density: { max_per_second: MAX_PER_SECOND, baseline: { days: 2, sessions: 500 } },
        index: {
          manifest: { kind: 'http', url: `${ragUrl}/manifest` },
          cron: '5 * * * *',
          late_after: '30m',
          calls_per_second: 1000,
        },
        golden: [
          {
            set: GOLDEN_SET,
            cron: '0 * * * *',
            cutoffs: [1, 3, 10],
            concurrency: 8,
            max_per_second: MAX_PER_SECOND,
            rotation_runs: 1,
          },
        ],
        checks: [
          { regression: 'ndcg@10', drop: 0.02, severity: 'critical' },
          { measure: 'ndcg@10', below: Math.round(100 * (healthy - FLOOR_BELOW)) / 100, severity: 'critical' },
          { stale_labels_above: 0.02, severity: 'warning' },
          { density_drift: true, severity: 'warning' },
          { measure: 'retriever_error_ratio', above: 0.03, severity: 'critical' },
          { measure: 'retriever_latency_p95_seconds', above: MAX_LATENCY, severity: 'warning' },
          { measure: 'error_ratio', above: 0.05, severity: 'critical', min_n: 30, confirm: 1 },
          { measure: 'zero_results_ratio', above: 0.05, severity: 'warning', min_n: 30, confirm: 1 },
          { measure: 'feedback_positive_ratio', below: 0.6, severity: 'warning', confirm: 1 },
          { measure: 'index_missing_ratio', above: 0.03, severity: 'warning' },
          { measure: 'index_superseded_ratio', above: 0.03, severity: 'warning' },
          { measure: 'index_other_model_ratio', above: 0.2, severity: 'warning', min_n: 8 },
          { measure: 'ann_recall', below: 0.9, severity: 'warning' },
        ],
      },
    ],
  });
}
