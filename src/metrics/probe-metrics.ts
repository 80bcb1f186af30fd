/** The metrics of what the parts of a pipeline are made of and how they hold, as part of the catalogue. */
import { boundedGauges, type MetricDefinition, storedGauge } from './definition.ts';

const searched = ['pipeline', 'k'] as const;

export const probeMetrics = {
  recalld_store_vectors: storedGauge(
    'Vectors in the store; an estimate of the store where counting is not free.',
    ['pipeline'],
  ),
  recalld_store_sample_age_seconds: storedGauge('Age of the latest uniform sample of the vector store.', [
    'pipeline',
  ]),
  recalld_store_query_divergence: storedGauge(
    'Jensen-Shannon divergence in bits, 0 to 1, between the shares of queries and of chunks over the clusters of the store; they always differ somewhat.',
    ['pipeline'],
  ),
  recalld_store_queries_apart_ratio: storedGauge(
    'Share of sampled live queries outside of the neighbourhood of every sampled chunk.',
    ['pipeline'],
  ),
  recalld_store_chunks_unasked_ratio: storedGauge(
    'Share of sampled chunks in whose neighbourhood no sampled live query lies.',
    ['pipeline'],
  ),
  recalld_store_centroid_shift: storedGauge(
    'Cosine distance between the mean directions of the latest two samples of the store, 0 to 2.',
    ['pipeline'],
  ),
  recalld_store_length_ratio: storedGauge(
    'Mean vector length of the latest sample of the store over that of the one before; 1 when nothing changed.',
    ['pipeline'],
  ),
  ...boundedGauges(
    { recalld_store_duplicates_ratio: 'Share of sampled vectors that have a copy elsewhere in the store.' },
    ['pipeline'],
    'Wilson',
  ),
  ...boundedGauges(
    {
      recalld_ann_recall_ratio:
        'Mean share of the k exact nearest neighbours that the index returns, over random live queries of the last day.',
    },
    searched,
  ),
  recalld_ann_recall_queries: storedGauge('Live queries behind recalld_ann_recall_ratio (its n).', searched),
  recalld_embedding_canary_median_similarity: storedGauge(
    'Median cosine of 20 fixed texts to the vectors that the embedder first gave for them; below 0.995 another model answers.',
    ['pipeline'],
  ),
  recalld_embedding_canary_least_similarity: storedGauge(
    'Least cosine of 20 fixed texts to the vectors that the embedder first gave for them; below 0.98 another model answers.',
    ['pipeline'],
  ),
  recalld_index_info: storedGauge(
    'What the vector store is made of, as a fingerprint of its kind, index, settings and size class; always 1.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_embedder_info: storedGauge(
    'What the embedder is, as a fingerprint of its model, dimension and canary; always 1.',
    ['pipeline', 'fingerprint'],
  ),
  recalld_probe_no_data: storedGauge('1 when the latest probe came to no value, with the reason.', [
    'pipeline',
    'measure',
    'reason',
  ]),
  recalld_probe_last_success_timestamp_seconds: storedGauge('When a probe last came to a value.', [
    'pipeline',
    'measure',
  ]),
} as const satisfies Record<string, MetricDefinition>;
