/** What measures are called in sentences, tables and charts, and why one of them has no value: the only place that says so. */

/** What a value is of, and so how it is written. */
export type MeasureScale = 'count' | 'share' | 'score' | 'seconds' | 'other';

export interface MeasureWords {
  /** Heads a row or a chart. */
  readonly title: string;
  /** Subject of a sentence: `<this> is <value>`. */
  readonly means: string;
  /** One line for people who see it for the first time. */
  readonly note: string;
  readonly scale: MeasureScale;
}

/** In reading order: traffic, feedback, density, then the store, its index and the embedder, then golden runs. */
export const measureWords = {
  queries: {
    title: 'Live queries',
    means: 'the number of live queries',
    note: 'In the window, sampled or not.',
    scale: 'count',
  },
  zero_results_ratio: {
    title: 'Zero results',
    means: 'the share of live queries without a document',
    note: 'Queries answered without a document.',
    scale: 'share',
  },
  error_ratio: {
    title: 'Errors',
    means: 'the share of live queries that failed or timed out',
    note: 'Queries whose retrieval failed or timed out.',
    scale: 'share',
  },
  feedback_positive_ratio: {
    title: 'Positive feedback',
    means: 'the share of positive opinions',
    note: 'Of the opinions that users stated or showed.',
    scale: 'share',
  },
  click_through_ratio: {
    title: 'Click-through',
    means: 'the share of shown documents that were clicked',
    note: 'Shown documents that were clicked.',
    scale: 'share',
  },
  clicked_query_ratio: {
    title: 'Clicked queries',
    means: 'the share of live queries with a click',
    note: 'Queries with a click.',
    scale: 'share',
  },
  clicked_reciprocal_rank: {
    title: 'Clicked reciprocal rank',
    means: 'the mean reciprocal rank of the best clicked document',
    note: 'Mean of 1 / rank of the best clicked document.',
    scale: 'score',
  },
  clicks_over_expected_ratio: {
    title: 'Clicks over expected',
    means: 'the number of clicks over those expected at the same ranks',
    note: 'Clicks over those expected at the same ranks; 1 is as often as before.',
    scale: 'other',
  },
  samples_read_ratio: {
    title: 'Samples read',
    means: 'the share of stored live queries that was read',
    note: 'Of the stored samples of the window.',
    scale: 'share',
  },
  query_density: {
    title: 'Query density',
    means: 'query density',
    note: 'How well the store covers live queries: 1 as in the reference, lower is worse.',
    scale: 'score',
  },
  query_uncovered_ratio: {
    title: 'Uncovered traffic',
    means: 'the share of sessions that the store covers badly',
    note: 'Sessions covered worse than 95 % of the reference; 5 % as there.',
    scale: 'share',
  },
  query_uncovered_excess_ratio: {
    title: 'Lost coverage, at least',
    means: 'the traffic that lost its coverage',
    note: 'What of the uncovered traffic the reference does not explain.',
    scale: 'share',
  },
  density_sessions: {
    title: 'Sessions measured',
    means: 'the number of sessions behind query density',
    note: 'Behind the latest density window.',
    scale: 'count',
  },
  density_page_evidence_ratio: {
    title: 'Evidence, page',
    means: 'the evidence of drift over what pages somebody',
    note: 'Evidence of drift over what pages somebody; 1 is an alarm.',
    scale: 'other',
  },
  density_ticket_evidence_ratio: {
    title: 'Evidence, ticket',
    means: 'the evidence of drift over what opens a ticket',
    note: 'Evidence of drift over what opens a ticket; 1 is an alarm.',
    scale: 'other',
  },
  store_vectors: {
    title: 'Vectors in the store',
    means: 'the number of vectors in the store',
    note: 'As the store counts them.',
    scale: 'count',
  },
  ann_recall: {
    title: 'Index recall',
    means: 'the share of the exact nearest neighbours that the index finds',
    note: 'Share of the exact nearest neighbours that the index returns.',
    scale: 'score',
  },
  embedding_canary_median: {
    title: 'Embedder canary, median',
    means: 'the median cosine of the canary texts',
    note: 'Cosine of fixed texts to their first vectors; another model answers below 0.995.',
    scale: 'score',
  },
  embedding_canary_least: {
    title: 'Embedder canary, least',
    means: 'the least cosine of the canary texts',
    note: 'The least of these cosines; another model answers below 0.98.',
    scale: 'score',
  },
  store_queries_apart_ratio: {
    title: 'Queries apart from the store',
    means: 'the share of live queries apart from every chunk',
    note: 'Live queries outside of the neighbourhood of every sampled chunk.',
    scale: 'share',
  },
  store_chunks_unasked_ratio: {
    title: 'Chunks nobody asks for',
    means: 'the share of chunks that nobody asks for',
    note: 'Sampled chunks without a live query in their neighbourhood.',
    scale: 'share',
  },
  store_duplicates_ratio: {
    title: 'Duplicate chunks',
    means: 'the share of duplicate chunks',
    note: 'Sampled vectors that have a copy elsewhere in the store.',
    scale: 'share',
  },
  store_query_divergence: {
    title: 'Queries against chunks',
    means: 'the divergence of queries from chunks',
    note: 'Divergence in bits, 0 to 1, between the shares of queries and of chunks over the store.',
    scale: 'other',
  },
  store_centroid_shift: {
    title: 'Store centroid shift',
    means: 'the shift of the centroid of the store',
    note: 'Cosine distance between the mean directions of the latest two samples of the store.',
    scale: 'other',
  },
  store_length_ratio: {
    title: 'Vector length ratio',
    means: 'the mean length of vectors over that before',
    note: 'Mean length in the latest sample over the one before; 1 when nothing changed.',
    scale: 'other',
  },
  store_sample_vectors: {
    title: 'Vectors sampled',
    means: 'the number of vectors sampled from the store',
    note: 'In the latest sample of the store.',
    scale: 'count',
  },
  store_sample_age_seconds: {
    title: 'Age of the store sample',
    means: 'the age of the sample of the store',
    note: 'Since the store was last sampled.',
    scale: 'seconds',
  },
  retriever_error_ratio: {
    title: 'Failed golden queries',
    means: 'the share of golden queries that failed or timed out',
    note: 'In the latest golden run of the set.',
    scale: 'share',
  },
  retriever_latency_p95_seconds: {
    title: 'Golden query latency, p95',
    means: 'the 95th percentile of the latency of golden queries',
    note: 'Of the answers of the latest golden run of the set.',
    scale: 'seconds',
  },
  golden_representativeness: {
    title: 'Golden set represents',
    means: 'the share of live queries with a golden query near by',
    note: 'Live queries with a golden query near by.',
    scale: 'share',
  },
  golden_live_mix_ndcg: {
    title: 'nDCG in the live mix',
    means: 'nDCG of the golden set, weighted as live traffic is',
    note: 'nDCG of the golden set, weighted as live traffic is.',
    scale: 'score',
  },
  golden_run_age_seconds: {
    title: 'Age of the golden run',
    means: 'the time since the last completed golden run',
    note: 'Since the last golden run that completed.',
    scale: 'seconds',
  },
} as const satisfies Record<string, MeasureWords>;

/** A measure that has no entry is called by its own name, without its underscores. */
export function wordsOf(measure: string): MeasureWords {
  const known: Readonly<Record<string, MeasureWords>> = measureWords;
  const spaced = measure.replaceAll('_', ' ');
  return (
    known[measure] ?? {
      title: `${spaced.charAt(0).toUpperCase()}${spaced.slice(1)}`,
      means: spaced,
      note: '',
      scale: 'other',
    }
  );
}

const gapReasons: Readonly<Record<string, string>> = {
  no_queries: 'no live queries',
  no_clicks: 'no clicks',
  no_feedback: 'no feedback',
  no_reference: 'no reference yet',
  no_vectors: 'no live query with a vector',
  no_embedder: 'the config names no embedder',
  too_few_sessions: 'too few sessions',
  too_few_queries: 'too few live queries',
  too_few_clicks: 'too few clicks',
  unsupported: 'the store cannot tell',
  store_empty: 'the store has no vectors',
  store_failed: 'the store did not answer',
  embedder_failed: 'the embedder did not answer',
};

/** Why a measure came to no value, in words; a reason that is not known here loses its underscores. */
export function gapWords(reason: string): string {
  return gapReasons[reason] ?? reason.replaceAll('_', ' ');
}
