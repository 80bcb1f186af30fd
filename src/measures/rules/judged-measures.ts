/** Rows of the measure table for judged live relevance. */
import type { Measure, MeasureScale } from './measure-row.ts';

const HOURLY = 3600;
const judged = { every: HOURLY, labels: ['pipeline', 'segment', 'k'], bounds: 'jackknife over sessions' } as const;
const episodes = { ...judged, bounds: 'jackknife over sessions, or over episodes that have no session' } as const;
const agreement = { ...judged, labels: ['pipeline'] } as const;
const thresholdPolicy = { worse: 'below', unit: 'share', minN: 30, confirm: 2, scope: 'traffic' } as const;
const UNCORRECTED =
  'from the judge model only and without bias correction. Exported until people have graded 8 sessions';

/** Returns the row for a measure of judged live relevance that is not calibrated by human judgments. */
function uncorrected<const Name extends string, const Scale extends MeasureScale>(
  name: Name,
  words: string,
  scale: Scale,
) {
  return {
    title: `Judged live ${words}, uncorrected`,
    subject: `live ${words} (judge model only)`,
    note: `Judged live ${words}, ${UNCORRECTED}.`,
    scale,
    gauge: `recalld_${name}_uncorrected` as const,
    help: `Like recalld_${name}, but ${UNCORRECTED}.`,
    ...judged,
  } as const;
}

export const judgedMeasures = {
  live_ndcg: {
    title: 'Judged live nDCG',
    subject: 'live nDCG (human-calibrated)',
    note: 'How well the retriever ranks the top documents of live queries; 1 is the ideal order. The 95 % CI accounts for judge bias.',
    scale: 'score',
    gauge: 'recalld_live_ndcg',
    help: 'Mean nDCG at k of live queries in the trailing window, from model grades (0 to 3) that are calibrated by human judgments. The ideal order contains only graded documents, so the value is higher than nDCG on full judgments; recalld_live_ndcg_pool_gap estimates the difference. If a relevant document is no longer retrieved, the value drops by only part of the loss, whereas precision and hit rate drop by the full loss (docs/explanation/judging.md).',
    ...judged,
    thresholdPolicy,
  },
  live_precision: {
    title: 'Judged live precision',
    subject: 'live precision (human-calibrated)',
    note: 'Share of the top documents of live queries that contain an answer or part of one (grade 2 or 3).',
    scale: 'score',
    gauge: 'recalld_live_precision',
    help: 'Share of the top k documents that have grade 2 or 3, averaged over live queries in the trailing window; calibrated by human judgments.',
    ...judged,
    thresholdPolicy,
  },
  live_hit_rate: {
    title: 'Judged live hit rate',
    subject: 'live hit rate (human-calibrated)',
    note: 'Share of live queries with at least one top document that contains an answer or part of one (grade 2 or 3).',
    scale: 'share',
    gauge: 'recalld_live_hit_rate',
    help: 'Share of live queries in the trailing window with a document of grade 2 or 3 among the top k; calibrated by human judgments.',
    ...judged,
    thresholdPolicy,
  },
  live_mrr: {
    title: 'Judged live MRR',
    subject: 'live MRR (human-calibrated)',
    note: 'Mean of 1 / rank of the first document with grade 2 or 3, over live queries.',
    scale: 'score',
    gauge: 'recalld_live_mrr',
    help: 'Mean of 1 / rank of the first document with grade 2 or 3 among the top k (0 if there is none), over live queries in the trailing window; calibrated by human judgments.',
    ...judged,
    thresholdPolicy,
  },
  live_ndcg_uncorrected: uncorrected('live_ndcg', 'nDCG', 'score'),
  live_precision_uncorrected: uncorrected('live_precision', 'precision', 'score'),
  live_hit_rate_uncorrected: uncorrected('live_hit_rate', 'hit rate', 'share'),
  live_mrr_uncorrected: uncorrected('live_mrr', 'MRR', 'score'),
  live_ndcg_pool_gap: {
    title: 'Pool gap of judged live nDCG',
    subject: 'the nDCG that live queries lose because the store has better documents',
    note: 'How much judged live nDCG drops when its ideal order includes the stored chunks nearest to the query. Uses only the judge model.',
    scale: 'score',
    every: HOURLY,
    gauge: 'recalld_live_ndcg_pool_gap',
    help: 'Drop in nDCG at k of live queries in the trailing window if the ideal order also includes the stored chunks nearest to the query (as many as judged.pooling.documents). The value is estimated with the judge model only, from a random share (judged.pooling.share) of the queries selected for judging. To correct recalld_live_ndcg, subtract this value.',
    labels: ['pipeline', 'k'],
    bounds: 'jackknife over sessions',
  },
  live_ndcg_drop: {
    title: 'Drop in judged live nDCG',
    subject: 'the drop in live nDCG compared with previous weeks',
    note: 'How far live nDCG in recent days is below live nDCG in the previous weeks. Until people have graded enough queries from the recent days, the value comes from the judge model alone.',
    scale: 'other',
    every: HOURLY,
    gauge: 'recalld_live_ndcg_drop',
    help: 'Drop in the nDCG at k of live queries from the preceding weeks (up to six) to recent days. Once human judgments confirm or reject the drop, the value comes from human judgments. Until then, the value comes from the judge model, with bounds that remain valid over a year of daily evaluations.',
    labels: ['pipeline', 'k'],
    bounds: "Student's t over days, or Welch's t over sessions",
  },
  judged_day: {
    title: 'Daily judged live nDCG, uncorrected',
    subject: 'daily live nDCG (judge model only)',
    note: 'Daily values used to detect drops in live relevance.',
    scale: 'score',
    every: 86_400,
  },
  episode_hit_rate: {
    title: 'Judged episode hit rate',
    subject: 'the episode hit rate (judge model only)',
    note: "Share of agent turns with at least one retrieval that returned an answer to the user's question, or part of one (grade 2 or 3).",
    scale: 'share',
    gauge: 'recalld_episode_hit_rate',
    help: "Share of episodes (agent turns) in the trailing window with at least one retrieval that returned a document of grade 2 or 3 in its top k. The judge model grades documents against the user's question, not the rewritten query. Not calibrated by human judgments.",
    ...episodes,
    thresholdPolicy,
  },
  rewrite_gain: {
    title: 'Gain of query rewriting',
    subject: 'the gain of query rewriting (judge model only)',
    note: "How much nDCG rises on average because an agent rewrites the first query of a turn: nDCG of the rewritten query minus nDCG of the user's original text. recalld itself sends the original text to the retriever. A value below 0 means that rewriting makes results worse.",
    scale: 'score',
    gauge: 'recalld_rewrite_gain',
    help: 'Mean gain in nDCG at k from rewriting the first query of an episode: nDCG of the rewritten query minus nDCG of the original text. Covers the episodes in the trailing window whose first query was rewritten. recalld sends both texts to the retriever at the time of grading. The judge model grades the documents of both queries against the original text, and the ideal order contains the documents of both. A value below 0 means that rewriting makes results worse.',
    ...episodes,
    thresholdPolicy: { ...thresholdPolicy, unit: 'difference' },
  },
  judge_agreement: {
    title: 'Judge agreement with people',
    subject: 'the agreement between the judge model and people',
    note: 'Quadratic weighted kappa of model and human grades: 1 is full agreement, 0 is agreement by chance.',
    scale: 'other',
    gauge: 'recalld_judge_agreement',
    help: 'Quadratic weighted kappa of model and human grades, over the documents of live queries that both the model and people have graded: 1 is full agreement, 0 is agreement by chance.',
    ...agreement,
  },
  human_agreement: {
    title: 'Human agreement',
    subject: 'the agreement between two people',
    note: 'Quadratic weighted kappa of two people who graded independently: 1 is full agreement, 0 is agreement by chance.',
    scale: 'other',
    gauge: 'recalld_human_agreement',
    help: 'Quadratic weighted kappa of two people who graded the same documents of live queries independently: 1 is full agreement, 0 is agreement by chance. This value is an approximate upper bound on the agreement between a judge model and people.',
    ...agreement,
  },
  judge_drift: {
    title: 'Judge drift',
    subject: 'the drift of the judge model',
    note: "Mean change in the judge's grades for a fixed panel of query-document pairs since the judge first graded these pairs; 0 means no change.",
    scale: 'other',
    every: 86_400,
    gauge: 'recalld_judge_drift',
    help: "Mean change in the judge's grades (0 to 3) for a fixed panel of query-document pairs since the judge first graded these pairs, measured once a day.",
    labels: ['pipeline'],
    bounds: "Student's t over the pairs",
  },
  judged_queries: {
    title: 'Judged queries',
    subject: 'the number of graded live queries in a week',
    note: 'Live queries in the trailing window with grades from the model or from people.',
    scale: 'count',
    every: HOURLY,
  },
} as const satisfies Record<string, Measure>;
