/** Rows of the measure table for the store, the index, the embedder and golden sets. */
import { gaugesBy, type Measure } from './measure-row.ts';

const pipelineGauge = gaugesBy(['pipeline'], false);
const boundedGauge = gaugesBy(['pipeline'], true);
const wilsonGauge = gaugesBy(['pipeline'], 'Wilson');

export const pipelineMeasures = {
  store_vectors: {
    title: 'Vectors in the store',
    subject: 'the number of vectors in the store',
    note: 'Number of vectors that the store reports.',
    scale: 'count',
    every: 300,
    gauge: pipelineGauge(
      'recalld_store_vectors',
      "Number of vectors in the store. If an exact count is expensive, this is the store's estimate.",
    ),
  },
  ann_recall: {
    title: 'Index recall',
    subject: 'index recall',
    note: 'Share of the exact nearest neighbors that the index returns.',
    scale: 'score',
    every: 3600,
    gauge: {
      name: 'recalld_ann_recall_ratio',
      help: 'Share of the k exact nearest neighbors that the index returns, averaged over random live queries from the last day.',
      labels: ['pipeline', 'k'],
      bounds: true,
    },
    thresholdPolicy: { worse: 'below', unit: 'share', minN: 10, confirm: 2, scope: 'pipeline' },
  },
  store_agreement: {
    title: 'Agreement with the store',
    subject: 'the share of golden results that are among the nearest chunks in the store',
    note: 'Share of the documents in golden results that are among the nearest chunks in the store. The level depends on the retriever, for example on its reranker; a change shows that a component between the store and the results changed.',
    scale: 'score',
    every: 86_400,
    gauge: boundedGauge(
      'recalld_store_agreement_ratio',
      'Mean share of the n documents returned for a golden query that are also among the n nearest chunks in the store. Covers 32 queries of the latest golden run.',
    ),
  },
  missed_foreign_ratio: {
    title: 'Missed documents with a wrong vector',
    subject: 'the share of missed relevant documents whose stored vector does not match the stored text',
    note: 'Among relevant documents that are in the store but that the latest golden run missed, the share whose vector does not match the embedding of their text.',
    scale: 'share',
    every: 86_400,
    gauge: wilsonGauge(
      'recalld_missed_documents_foreign_ratio',
      'Among up to 16 stored relevant documents that the latest golden run missed, the share whose stored vector differs from the vector that the embedder returns for their text.',
    ),
  },
  repeat_density: {
    title: 'Replayed query density',
    subject: 'the density of replayed baseline queries',
    note: 'Density of baseline queries replayed in the last hour: 1 if the store covers them as well as before, lower if the store has lost content.',
    scale: 'other',
    every: 300,
    gauge: boundedGauge(
      'recalld_repeat_density',
      'Query density of about 100 baseline queries that were replayed in the last hour, computed as exp(-d), where d is the mean change in their surprise; 1 if the store covers them as well as in the baseline.',
    ),
    thresholdPolicy: { worse: 'below', unit: 'multiple', minN: 30, confirm: 2, scope: 'pipeline' },
  },
  embedding_canary_median: {
    title: 'Embedding canary, median',
    subject: 'the median cosine of the embedding canary',
    note: 'Median cosine between the current and the first vectors of fixed texts. A value below 0.995 means that the embedding model has changed.',
    scale: 'score',
    every: 600,
    gauge: pipelineGauge(
      'recalld_embedding_canary_median_similarity',
      'Median cosine between the current vectors of 20 fixed texts and the vectors that the embedder first returned. A value below 0.995 means that the embedding model has changed.',
    ),
  },
  embedding_canary_min: {
    title: 'Embedding canary, minimum',
    subject: 'the minimum cosine of the embedding canary',
    note: 'Minimum cosine between the current and the first vectors of fixed texts. A value below 0.98 means that the embedding model has changed.',
    scale: 'score',
    every: 600,
    gauge: pipelineGauge(
      'recalld_embedding_canary_min_similarity',
      'Minimum cosine between the current vectors of 20 fixed texts and the vectors that the embedder first returned. A value below 0.98 means that the embedding model has changed.',
    ),
  },
  store_queries_apart_ratio: {
    title: 'Queries far from every chunk',
    subject: 'the share of live queries far from every chunk',
    note: 'Share of live queries outside the neighborhood of every sampled chunk.',
    scale: 'share',
    every: 21600,
    gauge: pipelineGauge(
      'recalld_store_queries_apart_ratio',
      'Share of sampled live queries outside the neighborhood of every sampled chunk.',
    ),
  },
  store_chunks_unqueried_ratio: {
    title: 'Unqueried chunks',
    subject: 'the share of unqueried chunks',
    note: 'Share of sampled chunks with no live query in their neighborhood.',
    scale: 'share',
    every: 21600,
    gauge: pipelineGauge(
      'recalld_store_chunks_unqueried_ratio',
      'Share of sampled chunks with no sampled live query in their neighborhood.',
    ),
  },
  store_duplicates_ratio: {
    title: 'Duplicate chunks',
    subject: 'the share of duplicate chunks',
    note: 'Share of sampled vectors with a copy elsewhere in the store.',
    scale: 'share',
    every: 21600,
    gauge: wilsonGauge(
      'recalld_store_duplicates_ratio',
      'Share of sampled vectors with a copy elsewhere in the store.',
    ),
  },
  store_query_divergence: {
    title: 'Query-chunk divergence',
    subject: 'the divergence of queries from chunks',
    note: 'Jensen-Shannon divergence between queries and chunks over the clusters of the store, in bits (0 to 1).',
    scale: 'other',
    every: 21600,
    gauge: pipelineGauge(
      'recalld_store_query_divergence',
      'Jensen-Shannon divergence between the distribution of queries and the distribution of chunks over the clusters of the store, in bits (0 to 1). Some divergence is normal.',
    ),
  },
  store_centroid_shift: {
    title: 'Store centroid shift',
    subject: 'the shift of the store centroid',
    note: 'Cosine distance between the mean directions of the two latest store samples.',
    scale: 'other',
    every: 21600,
    gauge: pipelineGauge(
      'recalld_store_centroid_shift',
      'Cosine distance between the mean directions of the two latest store samples, 0 to 2.',
    ),
  },
  store_length_ratio: {
    title: 'Vector norm ratio',
    subject: 'the mean vector norm relative to the previous sample',
    note: 'Mean vector norm in the latest sample relative to the previous sample; 1 is no change.',
    scale: 'other',
    every: 21600,
    gauge: pipelineGauge(
      'recalld_store_length_ratio',
      'Mean vector norm in the latest sample of the store relative to the previous sample; 1 is no change.',
    ),
  },
  store_sample_vectors: {
    title: 'Vectors sampled',
    subject: 'the number of sampled vectors',
    note: 'Vectors in the latest sample of the store.',
    scale: 'count',
    every: 21600,
  },
  store_sample_age_seconds: {
    title: 'Age of the store sample',
    subject: 'the age of the store sample',
    note: 'Time since the store was last sampled.',
    scale: 'seconds',
    thresholdPolicy: { worse: 'above', unit: 'seconds', minN: 0, confirm: 2, scope: 'pipeline' },
  },
  retriever_error_ratio: {
    title: 'Failed golden queries',
    subject: 'the share of golden queries that failed or timed out',
    note: 'Among the queries of the latest golden run, the share that failed or timed out.',
    scale: 'share',
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 20, confirm: 1, scope: 'golden_sets' },
  },
  retriever_latency_p95_seconds: {
    title: 'Golden query latency, p95',
    subject: 'the p95 latency of golden queries',
    note: '95th percentile latency of the latest golden run.',
    scale: 'seconds',
    thresholdPolicy: { worse: 'above', unit: 'seconds', minN: 20, confirm: 2, scope: 'golden_sets' },
  },
  rbo: {
    title: 'Result stability (RBO)',
    subject: 'the rank-biased overlap with the results of the baseline',
    note: 'How similar the results of the latest golden run are to the baseline results: 1 is the same documents in the same order. Needs no judgments.',
    scale: 'score',
    thresholdPolicy: { worse: 'below', unit: 'share', minN: 5, confirm: 1, scope: 'golden_sets' },
  },
  false_answer_ratio: {
    title: 'False answers',
    subject: 'the share of unanswerable golden queries that returned documents or failed',
    note: 'Share of unanswerable golden queries (no document in the store is relevant) that returned documents or failed in the latest golden run.',
    scale: 'share',
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 5, confirm: 1, scope: 'golden_sets' },
  },
  candidates_recall: {
    title: 'Candidate recall',
    subject: 'candidate recall',
    note: 'Mean share of the relevant documents that the first stage of the retriever returns, in the latest completed golden run. Later stages cannot return relevant documents that the first stage missed.',
    scale: 'score',
    thresholdPolicy: { worse: 'below', unit: 'share', minN: 20, confirm: 1, scope: 'golden_sets' },
  },
  golden_context_characters: {
    title: 'Golden context length',
    subject: 'the mean context length of golden queries in characters',
    note: 'Mean number of characters of retrieved text per query in the latest golden run, over queries whose documents all have texts.',
    scale: 'count',
  },
  golden_context_repeated_ratio: {
    title: 'Repeated golden context',
    subject: 'the share of retrieved text that repeats an earlier document of the same golden query',
    note: 'Share of five-word sequences that already occur in an earlier document of the same query, in the latest golden run.',
    scale: 'share',
  },
  golden_representativeness: {
    title: 'Live coverage of the golden set',
    subject: 'the share of live queries with a golden query nearby',
    note: 'Share of live queries with a similar golden query.',
    scale: 'share',
    every: 21600,
    thresholdPolicy: { worse: 'below', unit: 'share', minN: 100, confirm: 1, scope: 'golden_sets' },
  },
  golden_live_mix_ndcg: {
    title: 'nDCG in the live mix',
    subject: 'nDCG of the golden set, with topics weighted by live traffic',
    note: 'nDCG of the golden set, with each topic weighted by its share of live traffic.',
    scale: 'score',
    every: 21600,
  },
  golden_run_age_seconds: {
    title: 'Age of the golden run',
    subject: 'the time since the last completed golden run',
    note: 'Time since the last completed golden run.',
    scale: 'seconds',
    thresholdPolicy: { worse: 'above', unit: 'seconds', minN: 0, confirm: 2, scope: 'golden_sets' },
  },
} as const satisfies Record<string, Measure>;
