/**
 * Measures the mix of live queries: the shares of the most frequent query and of queries repeated within a session, the
 * share of the usual language, the query length, and the shares of malformed and plain texts.
 */

import type { Context } from '../core/context.ts';
import { ALL_SEGMENT } from '../core/model.ts';
import { wilsonInterval } from '../math/stats/intervals.ts';
import type { LatestMeasurement } from '../measures/measurements.ts';
import type { MeasurementOutcome } from '../measures/rules/measurement.ts';
import { type ClickRateOutcome, queryRate } from './rules/feedback/click-rates.ts';
import { valueWithin } from './rules/live-measures.ts';
import { meanCount } from './rules/live-stages.ts';
import { isMalformed, isPlain } from './rules/query-form.ts';
import { languageOrScript, languageShare } from './rules/query-languages.ts';
import type { LiveWindow } from './sql/live-windows.ts';

export const TOP_QUERY = 'top_query_ratio';
export const REPEATED_QUERIES = 'repeated_query_ratio';
export const MAIN_LANGUAGE = 'main_language_ratio';
export const QUERY_LENGTH = 'query_characters';
export const MALFORMED = 'malformed_query_ratio';
export const PLAIN = 'plain_query_ratio';

/** Maximum number of texts that are read; language detection takes about 0.2 ms per text. */
const MAX_TEXTS = 300;
const TEXTS_PER_TURN = 50;
/** Minimum number of queries. With fewer queries, chance determines which query is most frequent. */
const MIN_QUERIES = 50;

/** @param latest most recent measurements of the pipeline */
export async function measureQueryMix(
  { db, clock }: Context,
  window: LiveWindow,
  latest: readonly LatestMeasurement[],
  signal: AbortSignal,
): Promise<MeasurementOutcome[]> {
  const measuredAt = clock.now();
  const { pipeline, from, until } = window;
  const frame = { pipeline, segment: ALL_SEGMENT, windowStart: from, windowEnd: until, measuredAt };
  const top = await db.live.windows.topQuery(window);
  const texts = top.queries === 0 ? [] : await db.live.windows.texts(window, MAX_TEXTS);
  const known = latest.find(({ measure, segment }) => measure === MAIN_LANGUAGE && segment === ALL_SEGMENT);
  const details = known?.newest?.details as
    | { readonly language: string; readonly last_majority_at: string }
    | undefined;
  const usual = details && { language: details.language, lastMajorityAt: new Date(details.last_majority_at) };
  const sampled = [];
  for (const { text, probability, cluster } of texts) {
    // Yields to requests, which share this thread.
    if (sampled.length % TEXTS_PER_TURN === 0) await clock.sleep(0, signal);
    sampled.push({
      language: languageOrScript(text, usual?.language ?? null),
      probability,
      cluster,
      value: text.length,
      isMalformed: isMalformed(text),
      isPlain: isPlain(text),
    });
  }
  const language = languageShare(sampled, usual ?? null, measuredAt);
  const gap = (measure: string, n: number): MeasurementOutcome => {
    const reason = n === 0 ? 'no_query_texts' : 'too_few_queries';
    return { kind: 'no_data', ...frame, measure, reason, details: {} };
  };
  const overTexts = (measure: string, found: ClickRateOutcome): MeasurementOutcome => {
    if (sampled.length < MIN_QUERIES || found.kind === 'insufficient_data') return gap(measure, sampled.length);
    const ciMethod = measure === QUERY_LENGTH ? 'sessions_t' : 'sessions_wilson';
    return { ...frame, measure, ...valueWithin(found, ciMethod), details: {} };
  };
  const malformed = queryRate(sampled, (query) => query.isMalformed);
  const plain = queryRate(sampled, (query) => query.isPlain);
  const { share, repeated, queries, sessions } = top;
  const ofQueries = (measure: string, value: number): MeasurementOutcome => {
    if (queries < MIN_QUERIES) return gap(measure, queries);
    const { low, high } = wilsonInterval(value, Math.max(1, sessions), 0.95);
    const within = { value, low: Math.min(low, value), high: Math.max(high, value), n: queries };
    return { ...frame, measure, ...valueWithin(within, 'sessions_wilson'), details: {} };
  };
  return [
    ofQueries(TOP_QUERY, share),
    ofQueries(REPEATED_QUERIES, repeated),
    language === null
      ? gap(MAIN_LANGUAGE, sampled.length)
      : {
          ...frame,
          measure: MAIN_LANGUAGE,
          ...valueWithin(language, 'wilson'),
          details: { language: language.usual.language, last_majority_at: language.usual.lastMajorityAt.toISOString() },
        },
    overTexts(QUERY_LENGTH, meanCount(sampled)),
    overTexts(MALFORMED, malformed),
    overTexts(PLAIN, plain),
  ];
}
