/** The recalld.yaml of the demo. */

import { SENTENCE_MODEL } from './rag/corpus.ts';
import { JUDGE_MODEL } from './rag/stand-in-judge.ts';

export const PIPELINE = 'demo';
export const GOLDEN_SET = 'xquad-en';
export const HEADLINE = 'ndcg@10';

/** Well below what the healthy service scores, and well above what it scores with a third of its index gone. */
const FLOOR = 0.7;
const MAX_STALE = 0.02;
const MAX_FAILURES = 0.05;
/** The few live queries of an hour do not show that fewer than a twentieth fail. */
const MAX_LIVE_FAILURES = 0.2;
/** In seconds; far above what a healthy search takes on a busy laptop. */
const MAX_LATENCY = 0.5;

/** Well below what the healthy service scores: people find nineteen of twenty answers among the best five. */
const MIN_LIVE_HITS = 0.65;

/** Live queries that a quiet hour has at least. */
const QUIET_HOUR = 30;

/** No pace: the RAG service is the demo's own. */
const MAX_PER_SECOND = 10_000;

/** Of its search and embedder, which are on the same machine: what fails twice is down, and that is told the sooner. */
const RETRIES = 1;

/** Between golden runs. */
export const GOLDEN_HOURS = 2;

/** Traffic that the density of the demo is held against: less than the usual fortnight, so that it is soon told. */
const BASELINE_DAYS = 2;
const BASELINE_SESSIONS = 1000;

/** As many live queries as are graded in a moment, and a window that is soon full of them. */
const JUDGED = {
  queries_per_day: 480,
  window: '3h',
  depth: 5,
  pooling: { share: 0.2, documents: 20 },
  human_share: 0.9,
  second_reviewer_share: 0,
} as const;

export interface DemoRag {
  /** Where the search and the embedder of the demo's RAG service answer. */
  readonly url: string;
  /** The store behind them. */
  readonly storeUrl: string;
}

export interface DemoConfigSettings {
  readonly rag: DemoRag;
  /** Of the daemon; 0 takes a free one. */
  readonly port: number;
  /** Holds the data folder. */
  readonly folder: string;
  /** Of golden runs. */
  readonly cron: string;
}

export function demoConfig({ rag, port, folder, cron }: DemoConfigSettings) {
  return {
    server: { port },
    storage: { url: 'embedded', data_dir: `${folder}/data` },
    log: { level: 'error' },
    llm: {
      base_url: `${rag.url}/v1`,
      model: JUDGE_MODEL,
      price_per_million_tokens: { input: 0, output: 0 },
      max_per_second: MAX_PER_SECOND,
    },
    pipelines: [
      {
        name: PIPELINE,
        retriever: {
          kind: 'http',
          url: `${rag.url}/search`,
          body: { query: '{{text}}', k: '{{k}}', with_text: false },
          results: { list: 'results', id: 'id', score: 'score' },
          timeout_ms: 2000,
          retries: RETRIES,
        },
        vector_store: { kind: 'pgvector', url: rag.storeUrl, table: 'chunks', content: 'body' },
        embedder: {
          kind: 'openai',
          base_url: `${rag.url}/v1`,
          model: SENTENCE_MODEL,
          retries: RETRIES,
          max_per_second: MAX_PER_SECOND,
        },
        sampling: { rate: 1 },
        live: { window: '1h' },
        judged: { judge: { kind: 'llm' }, ...JUDGED },
        density: {
          max_per_second: MAX_PER_SECOND,
          baseline: { days: BASELINE_DAYS, sessions: BASELINE_SESSIONS },
        },
        golden: [{ set: GOLDEN_SET, cron, cutoffs: [1, 10], concurrency: 4, max_per_second: MAX_PER_SECOND }],
        checks: [
          { measure: HEADLINE, below: FLOOR, severity: 'critical' },
          { density_drift: true, severity: 'critical' },
          { stale_labels_above: MAX_STALE, severity: 'warning' },
          { measure: 'retriever_error_ratio', above: MAX_FAILURES, severity: 'critical' },
          { measure: 'retriever_latency_p95_seconds', above: MAX_LATENCY, severity: 'warning', confirm: 1 },
          {
            measure: 'error_ratio',
            above: MAX_LIVE_FAILURES,
            severity: 'critical',
            min_n: QUIET_HOUR,
            confirm: 1,
          },
          { measure: `live_hit_rate@${JUDGED.depth}`, below: MIN_LIVE_HITS, severity: 'critical' },
        ],
      },
    ],
  };
}

/** Names of what can be in alarm on the pipeline of the demo, as the daemon has them. */
export const alertNames = {
  scores: `${HEADLINE} below ${FLOOR} on ${GOLDEN_SET}`,
  staleLabels: `stale labels above ${MAX_STALE} on ${GOLDEN_SET}`,
  density: 'density drift',
  goldenFailures: `golden queries of ${GOLDEN_SET} fail`,
  retrieverErrors: `retriever_error_ratio above ${MAX_FAILURES}`,
  latency: `retriever_latency_p95_seconds above ${MAX_LATENCY}`,
  liveErrors: `error_ratio above ${MAX_LIVE_FAILURES}`,
  liveHits: `live_hit_rate below ${MIN_LIVE_HITS}`,
  canary: 'the embedding canary moved',
} as const;

/** An alarm in short. */
export function alertLabel(name: string): string {
  return name === alertNames.latency
    ? `p95 latency above ${MAX_LATENCY} s`
    : name.replace(new RegExp(` (on|of) ${GOLDEN_SET}`), '');
}
