/** The rows of the measure table that are of live traffic by the grades of people and models. */
import type { Measure } from './measure-row.ts';

const HOURLY = 3600;
const labels = ['pipeline', 'segment', 'k'] as const;
const judged = { worse: 'below', unit: 'share', leastN: 30, confirm: 2, of: 'traffic' } as const;
const UNCORRECTED = 'by the model alone, until people have graded 8 sessions; nothing corrects its bias';

export const judgedMeasures = {
  live_ndcg: {
    title: 'Judged live nDCG',
    means: 'the nDCG of live queries, as people would grade their documents',
    note: 'How well the best documents of live queries are ordered; 95 % bounds hold although the judge is biased.',
    scale: 'score',
    every: HOURLY,
    isGlance: true,
    gauge: {
      name: 'recalld_live_ndcg',
      help: 'Mean nDCG at k of live queries of the trailing week, as people would grade their best documents 0 to 3: grades of a model corrected by those of people. The ideal order is that of the graded documents alone: it lies above nDCG on full judgments, and of an answer that no longer comes back it shows a part; precision and hit rate show all of it (docs/judging.md).',
      labels,
      bounds: 'jackknife over sessions',
    },
    judged,
  },
  live_precision: {
    title: 'Judged live precision',
    means: 'the share of the documents of live queries that hold an answer, as people would grade them',
    note: 'Share of the best documents of live queries that hold an answer or a part of one (grade 2 or 3).',
    scale: 'score',
    every: HOURLY,
    isGlance: true,
    gauge: {
      name: 'recalld_live_precision',
      help: 'Mean share of the best k documents of live queries of the trailing week that people would grade 2 or 3.',
      labels,
      bounds: 'jackknife over sessions',
    },
    judged,
  },
  live_hit_rate: {
    title: 'Judged live hit rate',
    means: 'the share of live queries with a document that holds an answer, as people would grade it',
    note: 'Share of live queries with an answer, or a part of one, among their best documents (grade 2 or 3).',
    scale: 'share',
    every: HOURLY,
    isGlance: true,
    gauge: {
      name: 'recalld_live_hit_rate',
      help: 'Share of live queries of the trailing week of whose best k documents people would grade one 2 or 3.',
      labels,
      bounds: 'jackknife over sessions',
    },
    judged,
  },
  live_mrr: {
    title: 'Judged live MRR',
    means: 'the mean reciprocal rank of the first answer to live queries, as people would grade documents',
    note: 'Mean of 1 / rank of the first document of live queries with grade 2 or 3.',
    scale: 'score',
    every: HOURLY,
    gauge: {
      name: 'recalld_live_mrr',
      help: 'Mean of 1 / rank of the first of the best k documents of live queries of the trailing week that people would grade 2 or 3; 0 without one.',
      labels,
      bounds: 'jackknife over sessions',
    },
    judged,
  },
  live_ndcg_uncorrected: {
    title: 'Judged live nDCG, uncorrected',
    means: 'the nDCG of live queries by the grades of the model',
    note: `As judged live nDCG, ${UNCORRECTED}.`,
    scale: 'score',
    every: HOURLY,
    gauge: {
      name: 'recalld_live_ndcg_uncorrected',
      help: `As recalld_live_ndcg, ${UNCORRECTED}.`,
      labels,
      bounds: 'jackknife over sessions',
    },
  },
  live_precision_uncorrected: {
    title: 'Judged live precision, uncorrected',
    means: 'the share of the documents of live queries that hold an answer by the grades of the model',
    note: `As judged live precision, ${UNCORRECTED}.`,
    scale: 'score',
    every: HOURLY,
    gauge: {
      name: 'recalld_live_precision_uncorrected',
      help: `As recalld_live_precision, ${UNCORRECTED}.`,
      labels,
      bounds: 'jackknife over sessions',
    },
  },
  live_hit_rate_uncorrected: {
    title: 'Judged live hit rate, uncorrected',
    means: 'the share of live queries with a document that holds an answer by the grades of the model',
    note: `As judged live hit rate, ${UNCORRECTED}.`,
    scale: 'share',
    every: HOURLY,
    gauge: {
      name: 'recalld_live_hit_rate_uncorrected',
      help: `As recalld_live_hit_rate, ${UNCORRECTED}.`,
      labels,
      bounds: 'jackknife over sessions',
    },
  },
  live_mrr_uncorrected: {
    title: 'Judged live MRR, uncorrected',
    means: 'the mean reciprocal rank of the first answer to live queries by the grades of the model',
    note: `As judged live MRR, ${UNCORRECTED}.`,
    scale: 'score',
    every: HOURLY,
    gauge: {
      name: 'recalld_live_mrr_uncorrected',
      help: `As recalld_live_mrr, ${UNCORRECTED}.`,
      labels,
      bounds: 'jackknife over sessions',
    },
  },
  live_ndcg_drop: {
    title: 'Fall of judged live nDCG',
    means: 'how far the nDCG of live queries lies below the weeks before',
    note: 'By how much the last days lie below the weeks before, by the grades of the model until people have graded enough of these days.',
    scale: 'other',
    every: HOURLY,
    gauge: {
      name: 'recalld_live_ndcg_drop',
      help: 'By how much the nDCG at k of live queries of the last days lies below up to six weeks before: by the grades of the model with bounds that hold for a year of looks, and by people once they have confirmed it or taken it back.',
      labels: ['pipeline', 'k'],
      bounds: 'Student over days, or Welch over sessions',
    },
  },
  judged_day: {
    title: 'Judged live nDCG of a day, uncorrected',
    means: 'the nDCG of the live queries of a day by the grades of the model',
    note: 'What falls of live relevance are told from.',
    scale: 'score',
    every: 86_400,
  },
  judge_agreement: {
    title: 'Agreement of the judge',
    means: 'the agreement of the model with people',
    note: 'Quadratic weighted kappa of the grades of the model and of people: 1 is the same, 0 as by chance.',
    scale: 'other',
    every: HOURLY,
    gauge: {
      name: 'recalld_judge_agreement',
      help: 'Quadratic weighted kappa of the grades of the model and of people, over the documents of live queries that both graded: 1 is the same, 0 as by chance.',
      labels: ['pipeline'],
      bounds: 'jackknife over sessions',
    },
  },
  judge_drift: {
    title: 'Drift of the judge',
    means: 'what the judge grades higher than at first',
    note: 'Grades that the judge gives a fixed panel of pairs more than when it first graded them; 0 is as at first.',
    scale: 'other',
    every: 86_400,
    gauge: {
      name: 'recalld_judge_drift',
      help: 'Grades (0 to 3) that the judge gives a panel of fixed pairs of a query and a document more than when it first graded them, mean over the pairs, once a day.',
      labels: ['pipeline'],
      bounds: 'Student over the pairs',
    },
  },
  judged_queries: {
    title: 'Judged queries',
    means: 'the number of grades of live queries in a week',
    note: 'Live queries of the trailing week that were graded, by the model and by people.',
    scale: 'count',
    every: HOURLY,
  },
} as const satisfies Record<string, Measure>;
