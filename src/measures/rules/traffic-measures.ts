/** Rows of the measure table for live traffic: queries, feedback, density. */
import { gaugesBy, type Measure } from './measure-row.ts';

const trafficGauge = gaugesBy(['pipeline', 'segment'], true);
const boundedGauge = gaugesBy(['pipeline'], true);

/** Defines the interval and the gauge of a measure of live traffic. */
function live<const Name extends string>(name: Name, help: string) {
  return { every: 'live', gauge: trafficGauge(name, help) } as const;
}

export const trafficMeasures = {
  queries: {
    title: 'Live queries',
    subject: 'the number of live queries',
    note: 'Live queries in the window, whether sampled or not.',
    scale: 'count',
    ...live(
      'recalld_query_volume',
      'Live queries in the trailing window, whether sampled or not. recalld counts the queries of all traffic, and estimates the number in a segment from the samples (Horvitz-Thompson).',
    ),
  },
  zero_results_ratio: {
    title: 'Zero results',
    subject: 'the share of live queries without results',
    note: 'Share of queries that returned no document.',
    scale: 'share',
    ...live(
      'recalld_query_zero_results_ratio',
      'Share of live queries in the trailing window that returned no documents, weighted by inverse inclusion probability.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 100, confirm: 3, scope: 'traffic' },
  },
  error_ratio: {
    title: 'Errors',
    subject: 'the share of live queries that failed or timed out',
    note: 'Share of queries whose retrieval failed or timed out.',
    scale: 'share',
    ...live(
      'recalld_query_error_ratio',
      'Share of live queries in the trailing window whose retrieval failed or timed out, weighted by inverse inclusion probability.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 100, confirm: 3, scope: 'traffic' },
  },
  latency_p95_seconds: {
    title: 'Live latency, p95',
    subject: 'the p95 latency of live queries',
    note: '95th percentile latency of live queries, as reported by the service.',
    scale: 'seconds',
    ...live(
      'recalld_query_latency_p95_seconds',
      '95th percentile of the latency that the service reports for live queries in the trailing window; weighted by inverse inclusion probability.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'seconds', minN: 100, confirm: 3, scope: 'traffic' },
  },
  live_replay_overlap: {
    title: 'Replayed live queries',
    subject: 'the overlap of live results with those of a replay',
    note: 'Mean rank-biased overlap of the results that users got in the last hour with the results of the same queries when replayed. Measured only during incidents.',
    scale: 'score',
    every: 'incident',
  },
  results_per_answer: {
    title: 'Results per query',
    subject: 'the mean number of documents per live query',
    note: 'Mean number of documents per query, over queries with results.',
    scale: 'count',
    ...live(
      'recalld_query_results',
      'Mean number of documents per live query in the trailing window, over queries with results; weighted by inverse inclusion probability.',
    ),
  },
  context_characters: {
    title: 'Context length',
    subject: 'the mean length of the retrieved context in characters',
    note: 'Mean number of characters of retrieved text per query, over queries for which the service sent the text of every document.',
    scale: 'count',
    ...live(
      'recalld_query_context_characters',
      'Mean number of characters of retrieved text per live query in the trailing window, over queries for which the service sent the text of every document; weighted by inverse inclusion probability.',
    ),
  },
  context_repeated_ratio: {
    title: 'Repeated context',
    subject: 'the share of retrieved text that repeats an earlier document of the same query',
    note: 'Share of five-word sequences that already occur in an earlier document of the same query.',
    scale: 'share',
    ...live(
      'recalld_query_context_repeated_ratio',
      'Mean share of retrieved text that repeats an earlier document of the same query (compared in five-word sequences), over live queries in the trailing window; weighted by inverse inclusion probability.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 30, confirm: 3, scope: 'traffic' },
  },
  top_query_ratio: {
    title: 'Most frequent query',
    subject: 'the share of live queries with the most frequent text',
    note: 'Share of live queries that have the most frequent text, regardless of case. Queries without a text are not counted.',
    scale: 'share',
    every: 'live',
    gauge: boundedGauge(
      'recalld_query_top_ratio',
      'Among live queries in the trailing window that have a text, the share with the most frequent text; weighted by inverse inclusion probability. The bounds are computed over sessions.',
    ),
  },
  main_language_ratio: {
    title: 'Usual language',
    subject: 'the share of live queries in the usual language',
    note: 'Share of the sampled query texts (up to 300) that are in the usual language. Only texts in the usual language or in the most frequent other language are counted. The usual language is the most frequent language at the first measurement. After 14 days, recalld may choose another usual language if less than half of the texts are in the current one.',
    scale: 'share',
    every: 'live',
    gauge: boundedGauge(
      'recalld_query_main_language_ratio',
      "Share of live queries in the trailing window that are in the pipeline's usual language. Only queries in the usual language or in the most frequent other language are counted.",
    ),
  },
  query_characters: {
    title: 'Query length',
    subject: 'the mean length of live queries in characters',
    note: 'Mean number of characters per query, over the sampled query texts (up to 300).',
    scale: 'count',
    every: 'live',
    gauge: boundedGauge(
      'recalld_query_characters',
      'Mean number of characters per live query in the trailing window, over the sampled texts (up to 300); weighted by inverse inclusion probability.',
    ),
  },
  malformed_query_ratio: {
    title: 'Malformed queries',
    subject: 'the share of live queries with a malformed text',
    note: 'Share of the sampled query texts (up to 300) that contain percent escapes, HTML, escape sequences, wrongly decoded characters or unfilled placeholders.',
    scale: 'share',
    every: 'live',
    gauge: boundedGauge(
      'recalld_query_malformed_ratio',
      'Share of live queries in the trailing window whose text contains percent escapes, HTML, escape sequences, wrongly decoded characters or unfilled placeholders, over the sampled texts (up to 300); weighted by inverse inclusion probability.',
    ),
  },
  plain_query_ratio: {
    title: 'Plain queries',
    subject: 'the share of live queries without capital letters, digits and punctuation',
    note: 'Share of the sampled query texts (up to 300) that contain no capital letter, digit or punctuation mark, as in keywords or transcripts of speech.',
    scale: 'share',
    every: 'live',
    gauge: boundedGauge(
      'recalld_query_plain_ratio',
      'Share of live queries in the trailing window whose text contains no capital letter, digit or punctuation mark, over the sampled texts (up to 300); weighted by inverse inclusion probability.',
    ),
  },
  staged_queries: {
    title: 'Queries with stages',
    subject: 'the number of sampled live queries with reported retriever stages',
    note: 'Sampled queries in the window for which the service reported retriever stages.',
    scale: 'count',
    every: 'live',
  },
  feedback_positive_ratio: {
    title: 'Positive feedback',
    subject: 'the share of positive feedback',
    note: 'Share of positive feedback in the window. Counts explicit feedback (thumbs, ratings) and implicit feedback (clicks, copies, reformulations).',
    scale: 'share',
    every: 'live',
    thresholdPolicy: { worse: 'below', unit: 'share', minN: 30, confirm: 3, scope: 'traffic' },
  },
  click_through_ratio: {
    title: 'Click-through rate',
    subject: 'the click-through rate',
    note: 'Share of shown documents that were clicked.',
    scale: 'share',
    ...live(
      'recalld_feedback_click_through_ratio',
      'Among documents shown at ranks 1 to 10 in the trailing window, the share that users clicked, weighted by inverse inclusion probability. The value depends on the ranks at which documents are shown.',
    ),
  },
  clicked_query_ratio: {
    title: 'Clicked queries',
    subject: 'the share of live queries with a click',
    note: 'Share of queries with a click on any document.',
    scale: 'share',
    ...live(
      'recalld_feedback_clicked_query_ratio',
      'Share of live queries in the trailing window with a click on any document, weighted by inverse inclusion probability. Queries without results count as not clicked.',
    ),
    thresholdPolicy: { worse: 'below', unit: 'share', minN: 100, confirm: 3, scope: 'traffic' },
  },
  clicked_reciprocal_rank: {
    title: 'Clicked reciprocal rank',
    subject: 'the mean reciprocal rank of the highest-ranked clicked document',
    note: 'Mean of 1 / rank of the highest-ranked clicked document, over queries with a click.',
    scale: 'score',
    ...live(
      'recalld_feedback_clicked_reciprocal_rank',
      'Mean of 1 / rank of the highest-ranked clicked document, over queries with a click in the trailing window; weighted by inverse inclusion probability.',
    ),
  },
  clicks_over_expected_ratio: {
    title: 'Clicks over expected clicks',
    subject: 'the ratio of clicks to the clicks expected at the same ranks',
    note: 'Clicks divided by the clicks expected at the same ranks; 1 means as many clicks as in the baseline.',
    scale: 'other',
    ...live(
      'recalld_feedback_clicks_over_expected_ratio',
      'Clicks in the trailing window divided by the clicks expected at the same ranks (COEC). The expected clicks are computed from the baseline period before the window; 1 means as many clicks as in the baseline.',
    ),
  },
  episode_retrievals: {
    title: 'Retrievals per episode',
    subject: 'the mean number of retrievals per episode',
    note: 'Mean number of retrievals that an agent makes in one turn.',
    scale: 'other',
    ...live(
      'recalld_episode_retrievals',
      'Mean number of retrievals in the episodes (agent turns) that were closed in the trailing window. Weighted by inverse inclusion probability, with bounds computed over episodes.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'mean', minN: 30, confirm: 3, scope: 'traffic' },
  },
  episode_repeats: {
    title: 'Repeated retrievals per episode',
    subject: 'the mean number of repeated retrievals per episode',
    note: 'Mean number of retrievals per turn that repeat the results of an earlier retrieval (rank-biased overlap of at least 0.8).',
    scale: 'other',
    ...live(
      'recalld_episode_repeats',
      'Mean number of retrievals per episode that repeat the results of an earlier retrieval (rank-biased overlap of at least 0.8), in the trailing window.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'mean', minN: 30, confirm: 3, scope: 'traffic' },
  },
  episode_repeat_ratio: {
    title: 'Repeated retrievals',
    subject: 'the share of later retrievals in an episode that repeat an earlier retrieval',
    note: 'Share of retrievals that repeat the results of an earlier retrieval of the turn (rank-biased overlap of at least 0.8). The first retrieval of a turn is not counted.',
    scale: 'share',
    ...live(
      'recalld_episode_repeat_ratio',
      'Share of retrievals in the trailing window that repeat the results of an earlier retrieval of the episode (rank-biased overlap of at least 0.8). The first retrieval of an episode is not counted.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 30, confirm: 3, scope: 'traffic' },
  },
  episode_new_documents_ratio: {
    title: 'New documents in later retrievals',
    subject: 'the share of documents from later retrievals that no earlier retrieval of the episode returned',
    note: 'Share of the documents in later retrievals that no earlier retrieval of the turn had returned.',
    scale: 'share',
    ...live(
      'recalld_episode_new_documents_ratio',
      'Share of documents returned in the trailing window that no earlier retrieval of the episode had returned. The documents of the first retrieval are not counted.',
    ),
    thresholdPolicy: { worse: 'below', unit: 'share', minN: 30, confirm: 3, scope: 'traffic' },
  },
  episode_empty_ratio: {
    title: 'Empty retrievals in episodes',
    subject: 'the share of episode retrievals that returned no documents',
    note: 'Share of the retrievals in agent turns that returned no document.',
    scale: 'share',
    ...live(
      'recalld_episode_empty_ratio',
      'Among the retrievals in episodes of the trailing window, the share that returned no documents.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 30, confirm: 3, scope: 'traffic' },
  },
  rewrite_answer_ratio: {
    title: 'Rewritten queries that look like answers',
    subject: 'the share of rewritten queries that look like an answer',
    note: 'Share of rewritten queries that look like an answer instead of a query.',
    scale: 'share',
    ...live(
      'recalld_rewrite_answer_ratio',
      'Among the rewritten queries in episodes of the trailing window, the share that look like an answer. Absent unless the rewritten texts and the original texts are stored.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 30, confirm: 3, scope: 'traffic' },
  },
  samples_read_ratio: {
    title: 'Samples read',
    subject: 'the share of stored samples that recalld read',
    note: 'Share of the samples stored in the window that recalld read to compute the measures.',
    scale: 'share',
    every: 'live',
  },
  query_density: {
    title: 'Query density',
    subject: 'query density',
    note: 'How well the store covers live queries: at 1, it covers them as well as in the baseline; lower values are worse.',
    scale: 'score',
    gauge: trafficGauge(
      'recalld_query_density',
      'How well the store covers live queries: at 1, it covers them as well as in the baseline; lower values are worse. Computed as exp(0.99 - mean surprise over sessions) from the latest windows that together have 200 sessions; the surprise of a query measures how poorly the store covers the query compared with baseline queries.',
    ),
    thresholdPolicy: { worse: 'below', unit: 'multiple', minN: 200, confirm: 2, scope: 'traffic' },
  },
  query_uncovered_ratio: {
    title: 'Uncovered traffic',
    subject: 'the share of poorly covered sessions',
    note: 'Share of sessions whose queries are covered less well than 95 % of the baseline queries; in the baseline, this share is 5 %.',
    scale: 'share',
    gauge: trafficGauge(
      'recalld_query_uncovered_ratio',
      'Share of sessions whose queries the store covers less well than 95 % of similar baseline queries; 0.05 matches the baseline.',
    ),
  },
  query_uncovered_excess_ratio: {
    title: 'Minimum lost coverage',
    subject: 'the share of traffic that lost coverage',
    note: 'Share of poorly covered traffic in excess of the baseline.',
    scale: 'share',
    gauge: trafficGauge(
      'recalld_query_uncovered_excess_ratio',
      'Minimum share of traffic that lost coverage: recalld_query_uncovered_ratio in excess of the baseline.',
    ),
    thresholdPolicy: { worse: 'above', unit: 'share', minN: 200, confirm: 2, scope: 'traffic' },
  },
  density_sessions: {
    title: 'Sessions measured',
    subject: 'the number of sessions from which query density is computed',
    note: 'Sessions in the latest density window.',
    scale: 'count',
  },
  density_page_evidence_ratio: {
    title: 'Drift e-value / page threshold',
    subject: 'the e-value of density drift relative to the page threshold',
    note: 'E-value of density drift relative to the page threshold; the alert fires at 1.',
    scale: 'other',
  },
  density_ticket_evidence_ratio: {
    title: 'Drift e-value / ticket threshold',
    subject: 'the e-value of density drift relative to the ticket threshold',
    note: 'E-value of density drift relative to the ticket threshold; the alert fires at 1.',
    scale: 'other',
  },
} as const satisfies Record<string, Measure>;
