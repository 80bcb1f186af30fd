import { SENTENCE_MODEL } from './rag/corpus.ts';
import { JUDGE_MODEL } from './rag/stand-in-judge.ts';

export const PIPELINE = 'demo';
export const GOLDEN_SET = 'xquad-en';
export const HEADLINE = 'ndcg@10';
/** Tenant of all users; all documents in the store are public. */
export const TENANT = 'acme';
export const PUBLIC = 'public';
const ISOLATION_RULE = 'tenants';

/**
 * Minimum golden score: well below the score of the healthy service, and well above its score while a third of the
 * index is missing.
 */
const MIN_SCORE = 0.7;
const MAX_STALE = 0.02;
const MAX_FAILURES = 0.05;
/** Maximum error ratio of live queries. An hour has too few queries to detect an error ratio of 5 %. */
const MAX_LIVE_FAILURES = 0.2;
/** Maximum latency in seconds: far above the latency of the healthy service on a busy laptop. */
const MAX_LATENCY = 0.5;

/** Minimum hit rate of live queries: well below the healthy hit rate of 95 %. */
const MIN_LIVE_HITS = 0.65;

/** Maximum share of rewritten queries that look like answers. A healthy rewriter never answers a question. */
const MAX_ANSWERS = 0.1;

/** Settings of checks that are evaluated on one hour of live queries; even at night, an hour has 30 queries. */
const ofAnHour = { severity: 'critical', min_n: 30, confirm: 1 };

/** Maximum number of requests per second: practically unlimited, because the demo calls only its own RAG service. */
const MAX_PER_SECOND = 10_000;

/**
 * Number of retries for the search and the embedder. On a single machine, one retry is enough, and more retries would
 * delay outage detection.
 */
const RETRIES = 1;

/** Hours between golden runs. */
export const GOLDEN_HOURS = 2;

/** Days of traffic in the density baseline; less than the default of two weeks, to keep the demo short. */
const BASELINE_DAYS = 2;
const BASELINE_SESSIONS = 1000;

/** Judging settings with few graded queries and a short window, to keep the demo short. */
const JUDGED = {
  queries_per_day: 480,
  window: '3h',
  depth: 5,
  pooling: { share: 0.2, documents: 20 },
  human_share: 0.9,
  second_reviewer_share: 0,
} as const;

/**
 * Whether a demo's scenarios need an agent that queries on behalf of the users, and whether they need graded live
 * queries.
 */
export interface DemoKinds {
  readonly hasAgent: boolean;
  readonly isJudged: boolean;
}

/**
 * Returns the config. If live queries are not graded (`isJudged` is false), the config omits the check on their hit
 * rate, which would have no data.
 */
export function demoConfig(
  rag: { readonly url: string; readonly storeUrl: string },
  port: number,
  folder: string,
  cron: string,
  { hasAgent, isJudged }: DemoKinds,
) {
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
          timeout_ms: 20_000,
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
        isolation: [{ name: ISOLATION_RULE, segment: 'tenant', field: 'tenant', allow: ['{{tenant}}', PUBLIC] }],
        live: { window: '1h' },
        ...(isJudged ? { judged: { judge: { kind: 'llm' }, ...JUDGED } } : {}),
        density: {
          max_per_second: MAX_PER_SECOND,
          baseline: { days: BASELINE_DAYS, sessions: BASELINE_SESSIONS },
        },
        golden: [{ set: GOLDEN_SET, cron, cutoffs: [1, 10], concurrency: 4, max_per_second: MAX_PER_SECOND }],
        checks: [
          { measure: HEADLINE, below: MIN_SCORE, severity: 'critical' },
          { density_drift: true, severity: 'critical' },
          { stale_labels_above: MAX_STALE, severity: 'warning' },
          { measure: 'retriever_error_ratio', above: MAX_FAILURES, severity: 'critical' },
          { measure: 'retriever_latency_p95_seconds', above: MAX_LATENCY, severity: 'warning', confirm: 1 },
          { measure: 'error_ratio', above: MAX_LIVE_FAILURES, ...ofAnHour },
          ...(isJudged
            ? [{ measure: `live_hit_rate@${JUDGED.depth}`, below: MIN_LIVE_HITS, severity: 'critical' }]
            : []),
          ...(hasAgent ? [{ measure: 'rewrite_answer_ratio', above: MAX_ANSWERS, ...ofAnHour }] : []),
        ],
      },
    ],
  };
}

export const alertNames = {
  scores: `${HEADLINE} below ${MIN_SCORE} on ${GOLDEN_SET}`,
  staleLabels: `stale labels above ${MAX_STALE} on ${GOLDEN_SET}`,
  density: 'density drift',
  goldenFailures: `golden queries of ${GOLDEN_SET} fail`,
  retrieverErrors: `retriever_error_ratio above ${MAX_FAILURES}`,
  latency: `retriever_latency_p95_seconds above ${MAX_LATENCY}`,
  liveErrors: `error_ratio above ${MAX_LIVE_FAILURES}`,
  liveHits: `live_hit_rate below ${MIN_LIVE_HITS}`,
  rewriting: `rewrite_answer_ratio above ${MAX_ANSWERS}`,
  canary: 'embedding canary changed',
  isolation: `isolation rule ${ISOLATION_RULE}`,
} as const;

export function alertLabel(name: string): string {
  return name === alertNames.latency
    ? `p95 latency above ${MAX_LATENCY} s`
    : name.replace(new RegExp(` (on|of) ${GOLDEN_SET}`), '');
}
