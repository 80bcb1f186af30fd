/** Rows of the measure table for measures that compare the store with its manifest. */
import type { Measure } from './measure-row.ts';

const labels = ['pipeline', 'segment'] as const;
const counted = {
  labels,
  bounds: 'Clopper-Pearson; if all documents were checked, the bound equals the value',
} as const;
const sampled = { labels, bounds: 'Clopper-Pearson' } as const;
const lag = { labels, bounds: 'Brookmeyer-Crowley' } as const;
const share = { worse: 'above', unit: 'share', minN: 50, confirm: 1, scope: 'traffic' } as const;
const seconds = { worse: 'above', unit: 'seconds', minN: 20, confirm: 2, scope: 'traffic' } as const;

export const indexMeasures = {
  index_missing_ratio: {
    title: 'Missing documents',
    subject: 'the share of missing documents',
    note: 'Share of manifest documents that are missing from the store, excluding recent changes.',
    scale: 'share',
    gauge: 'recalld_index_missing_ratio',
    help: 'Among manifest documents that have been unchanged for longer than late_after, the share that is missing from the vector store.',
    ...counted,
    thresholdPolicy: share,
  },
  index_not_retrievable_ratio: {
    title: 'Documents not retrieved',
    subject: 'the share of stored documents that a search for their own text does not find',
    note: 'Among stored documents probed in the last day, the share that a search for the start of their own text does not return in its top 10 results.',
    scale: 'share',
    gauge: 'recalld_index_not_retrievable_ratio',
    help: 'Among stored documents probed in the trailing day, the share that the retriever does not return in the top 10 results for the start of their own text.',
    ...sampled,
    thresholdPolicy: share,
  },
  index_orphaned_ratio: {
    title: 'Orphaned documents',
    subject: 'the share of orphaned documents',
    note: 'Share of stored documents that are missing from the manifest or marked as deleted in it, excluding recent changes.',
    scale: 'share',
    gauge: 'recalld_index_orphaned_ratio',
    help: 'Share of stored documents that the manifest does not list, or has listed as deleted for longer than late_after. If the store cannot list its ids, the value is the share of chunks in a uniform sample that belong to orphaned documents.',
    ...counted,
    thresholdPolicy: share,
  },
  index_superseded_ratio: {
    title: 'Superseded documents',
    subject: 'the share of documents with chunks from several versions',
    note: 'Share of documents with chunks from both an old and a newer version in the store.',
    scale: 'share',
    gauge: 'recalld_index_superseded_ratio',
    help: 'Share of documents in the vector store with chunks from more than one version.',
    ...sampled,
    thresholdPolicy: share,
  },
  index_lag_seconds: {
    title: 'Index lag, p95',
    subject: 'the p95 index lag',
    note: "Time within which 95 % of a day's document changes reach the store. If a change has not arrived yet, its waiting time so far is used.",
    scale: 'seconds',
    gauge: 'recalld_index_lag_seconds',
    help: 'Time within which 95 % of the document changes in the trailing day reached the vector store (Kaplan-Meier estimate; changes that have not arrived yet are censored). If there are too few changes for an upper bound, the exported value is the lower bound, and no bounds are exported. The value is only as precise as the interval between two index checks.',
    ...lag,
    thresholdPolicy: seconds,
  },
  index_lag_median_seconds: {
    title: 'Index lag, median',
    subject: 'the median index lag',
    note: "Time within which half of a day's document changes reach the store.",
    scale: 'seconds',
    gauge: 'recalld_index_lag_median_seconds',
    help: 'Time within which half of the document changes in the trailing day reached the vector store; measured like recalld_index_lag_seconds.',
    ...lag,
    thresholdPolicy: seconds,
  },
  index_other_model_ratio: {
    title: 'Vectors from another model',
    subject: 'the share of vectors from another embedding model',
    note: 'Share of chunks, sampled over a day, whose stored vector differs from the current embedding of their text.',
    scale: 'share',
    gauge: 'recalld_index_other_model_ratio',
    help: 'Share of chunks sampled in the trailing day whose stored vector differs from the vector that the configured embedder returns for the stored text.',
    ...sampled,
    thresholdPolicy: share,
  },
} as const satisfies Record<string, Measure>;
