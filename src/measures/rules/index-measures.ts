/** The rows of the measure table that hold what a store holds against what it should hold. */
import type { Measure } from './measure-row.ts';

const labels = ['pipeline', 'segment'] as const;
const bounds = 'Clopper and Pearson; the value itself where all documents were looked at';
const share = { worse: 'above', unit: 'share', minN: 50, confirm: 1, of: 'traffic' } as const;
const seconds = { worse: 'above', unit: 'seconds', minN: 20, confirm: 2, of: 'traffic' } as const;

export const indexMeasures = {
  index_missing_ratio: {
    title: 'Missing documents',
    means: 'the share of documents of the manifest that are missing in the store',
    note: 'In the manifest for longer than a change may take to arrive, and not in the store.',
    scale: 'share',
    isGlance: true,
    gauge: {
      name: 'recalld_index_missing_ratio',
      help: 'Share of the documents of the manifest that are not in the vector store, of those that have been as they are for longer than late_after.',
      labels,
      bounds,
    },
    judged: share,
  },
  index_not_retrievable_ratio: {
    title: 'Documents not retrieved',
    means: 'the share of stored documents that their own text does not find',
    note: 'In the store, and not among the first 10 results for the start of their own text, over a day.',
    scale: 'share',
    gauge: {
      name: 'recalld_index_not_retrievable_ratio',
      help: 'Share of the documents in the vector store that the retriever does not return among the first 10 for the start of their own text, over the trailing day.',
      labels,
      bounds: 'Clopper and Pearson',
    },
    judged: share,
  },
  index_orphaned_ratio: {
    title: 'Orphaned documents',
    means: 'the share of stored documents that the manifest does not name',
    note: 'In the store, and not in the manifest, or deleted there for longer than a change may take to arrive.',
    scale: 'share',
    isGlance: true,
    gauge: {
      name: 'recalld_index_orphaned_ratio',
      help: 'Share of what is in the vector store (documents where it lists its ids, else chunks of a uniform sample) that the manifest does not name, or names as deleted for longer than late_after.',
      labels,
      bounds,
    },
    judged: share,
  },
  index_superseded_ratio: {
    title: 'Superseded documents',
    means: 'the share of documents of which chunks of more than one version are live',
    note: 'Old and new chunks of one document answer side by side.',
    scale: 'share',
    isGlance: true,
    gauge: {
      name: 'recalld_index_superseded_ratio',
      help: 'Share of the documents in the vector store of which chunks of more than one version are live.',
      labels,
      bounds: 'Clopper and Pearson',
    },
    judged: share,
  },
  index_lag_seconds: {
    title: 'Index lag, p95',
    means: 'the time by which 95 % of changed documents are in the store',
    note: 'From the change of a document until it is in the store, of the changes of a day; what still waits counts as waiting.',
    scale: 'seconds',
    isGlance: true,
    gauge: {
      name: 'recalld_index_lag_seconds',
      help: 'Time by which 95 % of the changes of documents of the trailing day were in the vector store, by Kaplan and Meier with what still waits as censored. Where too few came or changed for an upper bound it is the lower bound, and has no others. No finer than the time between two looks.',
      labels,
      bounds: 'Brookmeyer and Crowley',
    },
    judged: seconds,
  },
  index_lag_median_seconds: {
    title: 'Index lag, median',
    means: 'the time by which half of the changed documents are in the store',
    note: 'As the index lag, of half of the changes.',
    scale: 'seconds',
    gauge: {
      name: 'recalld_index_lag_median_seconds',
      help: 'As recalld_index_lag_seconds, of half of the changes.',
      labels,
      bounds: 'Brookmeyer and Crowley',
    },
    judged: seconds,
  },
  index_other_model_ratio: {
    title: 'Vectors of another model',
    means: 'the share of stored vectors that the embedder would not make of the stored texts',
    note: 'Sampled chunks of a day whose text, embedded again, gives another vector.',
    scale: 'share',
    gauge: {
      name: 'recalld_index_other_model_ratio',
      help: 'Share of sampled chunks of the trailing day whose stored vector the embedder of the config would not make of the stored text.',
      labels,
      bounds: 'Clopper and Pearson',
    },
    judged: share,
  },
} as const satisfies Record<string, Measure>;
