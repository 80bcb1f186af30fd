/** Reads the signs from live traffic: outcomes of queries, ratings by users and the judge, and the mix of queries. */

import { decimal, formatValue, percentage, plural, type Unit } from '../../../core/format.ts';
import { fewestCalls } from '../../../measures/rules/measure-change.ts';
import { measureTable } from '../../../measures/rules/measure-table.ts';
import type { Observations, ObservedRelevance } from './observations.ts';
import type { ObservedFeedback, ObservedLive, ObservedReplay, ObservedShare, ObservedValue } from './observed-live.ts';
import { textLength } from './read-answer-signs.ts';
import { type Sign, type SignName, sign } from './signs.ts';

export function readLiveSigns({ live, liveReplay, relevance, judge, isolation }: Observations): Sign[] {
  const { errors, empty, latency, results, repeated, feedback } = live;
  const { topQuery, repeatedQueries, mainLanguage, queryLength, malformed, plain } = live;
  const flood = topQuery === null ? [] : readTopQuery(topQuery);
  // If one query floods the traffic, the mean text length mainly describes the results of that query.
  const isFlooded = flood.some(({ state }) => state === 'rose');
  return [
    ...(errors === null ? [] : readLiveErrors(errors)),
    ...(empty === null ? [] : readLiveEmpty(empty)),
    ...(latency === null ? [] : [readLatency(latency)]),
    ...(results === null ? [] : readResults(results)),
    ...(isFlooded ? [] : readTexts(live)),
    ...(repeated === null ? [] : readRepeated(repeated)),
    ...flood,
    ...(repeatedQueries === null ? [] : readRepeatedQueries(repeatedQueries)),
    ...(mainLanguage === null ? [] : readLanguage(mainLanguage)),
    // If one query floods the traffic, the mean length mainly describes this query.
    ...(queryLength === null || isFlooded ? [] : readQueryLength(queryLength)),
    ...(malformed === null ? [] : readMalformed(malformed)),
    ...(plain === null || isFlooded ? [] : readStyle(plain)),
    ...(feedback === null ? [] : readFeedback(feedback)),
    ...readEpisodes(live),
    ...(relevance === null ? [] : [readRelevance(relevance)]),
    ...(liveReplay === null ? [] : readReplay(liveReplay)),
    ...(judge === null ? [] : [readJudge(judge)]),
    ...(isolation === null ? [] : [readIsolation(isolation)]),
  ];
}

/** Reads violations of isolation rules. Forbidden documents in golden results produce the same sign. */
function readIsolation({ rules, answers }: NonNullable<Observations['isolation']>): Sign {
  const sentence = `The results of ${plural(answers, 'live query', 'live queries')} in the last hour violated the isolation ${rules.length === 1 ? 'rule' : 'rules'} ${rules.join(', ')}.`;
  return sign('forbidden', 'some', sentence);
}

const SOME_FAILURES = 0.05;
const FEW_FAILURES = 0.01;
const MOSTLY_FAILING = 0.9;

function readLiveErrors({ value, ciLow, n, before }: ObservedShare): Sign[] {
  const was = before === null ? '' : `; previously, ${percentage(before)} failed`;
  const sentence = `${percentage(value)} of live queries failed (n = ${n})${was}.`;
  const usual = Math.max(SOME_FAILURES, before ?? 0);
  const values = { before, now: value, unit: 'share' } as const;
  if (value <= usual) return [sign('live_errors', 'none', sentence, values)];
  // Compares the lower bound with `FEW_FAILURES` instead of `SOME_FAILURES`: in a window with few queries, a rise
  // becomes significant before it is large enough to fire a critical alert.
  if (ciLow <= Math.max(FEW_FAILURES, before ?? 0)) return [];
  return [sign('live_errors', value >= MOSTLY_FAILING ? 'most' : 'some', sentence, values)];
}

type StateOf<Name extends SignName> = Extract<Sign, { readonly name: Name }>['state'];

/** Returns the changed state for a large and certain change, `as_before` for a small change, and no sign otherwise. */
function changeOf<Name extends SignName>(
  name: Name,
  changed: StateOf<Name>,
  sentence: string,
  { before, value }: Pick<ObservedValue, 'before' | 'value'>,
  isLarge: boolean,
  isCertain: boolean,
  unit: Unit = 'share',
): Sign[] {
  const values = { before, now: value, unit };
  if (!isLarge) return [sign(name, 'as_before', sentence, values)];
  return isCertain ? [sign(name, changed, sentence, values)] : [];
}

const EMPTIER = 0.05;

function readLiveEmpty({ value, ciLow, n, before }: ObservedShare): Sign[] {
  if (before === null) return [];
  const sentence = `${percentage(value)} of live queries got no documents (n = ${n}); previously, ${percentage(before)} got none.`;
  return changeOf('live_empty', 'rose', sentence, { before, value }, value > before + EMPTIER, ciLow > before);
}

const saidBy = {
  none: 'which may be due to chance',
  detected: 'according to model grades only',
  confirmed: 'confirmed by human judgments',
  rejected: 'not confirmed by human judgments',
} as const;

function readRelevance(relevance: ObservedRelevance): Sign {
  const { value, ciLow, ciHigh, n } = relevance;
  const bounds = `95 % CI ${decimal(ciLow)} to ${decimal(ciHigh)}, ${n} queries`;
  if (relevance.state === 'below') {
    const { measure, before } = relevance;
    const sentence = `${measureTable[measure].title} is ${decimal(value)} (${bounds}); previously, it was ${decimal(before)}.`;
    return sign('live_relevance', 'fell', sentence, { before, now: value, unit: 'score' });
  }
  const { state } = relevance;
  const fell = state === 'detected' || state === 'confirmed';
  const sentence = `Judged nDCG of live queries is ${decimal(value)} lower than in the preceding weeks (${bounds}), ${saidBy[state]}.`;
  return sign('live_relevance', fell ? 'fell' : 'as_before', sentence);
}

/**
 * Minimum overlap at which results are comparable. A lower overlap may mean that the service adds a filter to every
 * call, or that it uses other ids.
 */
const COMPARABLE = 0.5;
/** Minimum overlap of results that did not change. If the results vary from call to call, both overlaps are lower. */
const INTACT = 0.7;
/** Minimum difference in overlap between the queries from the last hour and the queries from before the incident. */
const OTHER_RESULTS = 0.1;

function readReplay({ now, before }: ObservedReplay): Sign[] {
  const sentence = `The mean rank-biased overlap between the results that users got and those of a replay is ${percentage(now.value)} for ${now.n} live queries from the last hour, and ${percentage(before.value)} for ${before.n} queries from before the incident.`;
  const values = { before: before.value, now: now.value, unit: 'share' } as const;
  if (Math.max(now.value, before.value) < COMPARABLE) return [];
  if (Math.abs(now.value - before.value) < OTHER_RESULTS)
    return Math.min(now.value, before.value) < COMPARABLE ? [] : [sign('live_replay', 'as_before', sentence, values)];
  if (Math.max(now.value, before.value) < INTACT) return [];
  if (now.ciHigh < before.ciLow) return [sign('live_replay', 'live_differs', sentence, values)];
  return now.ciLow > before.ciHigh ? [sign('live_replay', 'all_differ', sentence, values)] : [];
}

function readJudge(judge: 'same' | 'changed'): Sign {
  const sentence =
    judge === 'changed'
      ? 'The judge of live queries now grades fixed query-document pairs differently.'
      : 'The judge of live queries grades fixed query-document pairs as before.';
  return sign('judge', judge, sentence);
}

/** As for golden queries, the latency must at least double, and must rise by more than the delays on a busy host. */
const SLOWER = 2;
const SLOWER_MS = 50;

function readLatency({ before, now, n }: NonNullable<ObservedLive['latency']>): Sign {
  const rose = now >= SLOWER * before && now - before >= SLOWER_MS;
  const sentence = `The service reports a live latency of ${formatValue(now, 'ms')} (95th percentile, n = ${n}); previously, it reported ${formatValue(before, 'ms')}.`;
  return sign('live_latency', rose ? 'rose' : 'steady', sentence, { before, now, unit: 'ms' });
}

/** Live result lists count as shorter if they have less than three quarters of the earlier number of results. */
const FEWER = 0.75;

function readResults(observed: ObservedValue): Sign[] {
  const { value, ciHigh, n, before } = observed;
  const sentence = `A live query returns ${decimal(value)} results on average (n = ${n}); previously, it returned ${decimal(before)}.`;
  return changeOf('live_results', 'fell', sentence, observed, value <= FEWER * before, ciHigh < before, 'other');
}

/** Ignores text lengths if the number of results changed, because the remaining results may have longer texts. */
function readTexts({ characters, results }: ObservedLive): Sign[] {
  if (characters === null || results === null || characters.before === 0) return [];
  if (Math.min(results.value, results.before) < FEWER * Math.max(results.value, results.before)) return [];
  const isCertain = characters.ciHigh < characters.before || characters.ciLow > characters.before;
  const found = textLength(characters.before / results.before, characters.value / results.value);
  return isCertain || found.state === 'as_before' ? [found] : [];
}

const MORE_REPEATED = 0.1;

function readRepeated(observed: ObservedValue): Sign[] {
  const { value, ciLow, n, before } = observed;
  const sentence = `${percentage(value)} of the text in a live result list repeats earlier text in the same list (n = ${n}); previously, ${percentage(before)} did.`;
  return changeOf('repeats', 'rose', sentence, observed, value >= before + MORE_REPEATED, ciLow > before);
}

/** Minimum rise in the traffic share of the most frequent query. */
const FLOOD = 0.1;

function readTopQuery(observed: ObservedValue): Sign[] {
  const { value, ciLow, n, before } = observed;
  const sentence = `One query makes up ${percentage(value)} of live traffic (n = ${n}); previously, the most frequent query made up ${percentage(before)}.`;
  return changeOf('top_query', 'rose', sentence, observed, value >= before + FLOOD, ciLow > before);
}

/** Minimum rise in the share of queries that repeat a query of their session. */
const MORE_REPEATED_QUERIES = 0.1;

function readRepeatedQueries(observed: ObservedValue): Sign[] {
  const { value, ciLow, n, before } = observed;
  const sentence = `${percentage(value)} of live queries repeat an earlier query of their session (n = ${n}); previously, ${percentage(before)} did.`;
  const isMore = value >= before + MORE_REPEATED_QUERIES;
  return changeOf('repeated_queries', 'rose', sentence, observed, isMore, ciLow > before);
}

/** Minimum drop in the share of queries in the usual language. */
const OTHER_LANGUAGE = 0.08;
/**
 * A share must differ from its normal value by three standard errors. This factor converts the half-width of the 95 %
 * CI, which is 1.96 standard errors, to three standard errors. One half-width is not enough: if users write in two
 * languages, chance alone lowers the share by that much in one in 40 windows.
 */
const THREE_SIGMA = 3 / 1.96;

function readLanguage(observed: ObservedValue): Sign[] {
  const { value, ciHigh, n, before } = observed;
  const sentence = `${percentage(value)} of live queries are in the usual language (language recognized in ${n} queries); previously, ${percentage(before)} were.`;
  const isCertain = value + THREE_SIGMA * (ciHigh - value) < before;
  return changeOf('language', 'changed', sentence, observed, value <= before - OTHER_LANGUAGE, isCertain);
}

/** Minimum relative change in the mean query length. */
const OTHER_LENGTH = 0.35;

function readQueryLength(observed: ObservedValue): Sign[] {
  const { value, ciLow, ciHigh, n, before } = observed;
  const sentence = `Live queries have ${decimal(value)} characters on average (${n} sampled); previously, they had ${decimal(before)}.`;
  const isLarge = Math.abs(value - before) > OTHER_LENGTH * before;
  const isCertain = ciHigh < before || ciLow > before;
  return changeOf('query_length', value > before ? 'rose' : 'fell', sentence, observed, isLarge, isCertain, 'count');
}

/** Minimum rise in the share of malformed queries. */
const MORE_MALFORMED = 0.05;

function readMalformed(observed: ObservedValue): Sign[] {
  const { value, ciLow, n, before } = observed;
  const sentence = `${percentage(value)} of live queries contain percent escapes, HTML, escape sequences, wrongly decoded characters or unfilled placeholders (${n} sampled); previously, ${percentage(before)} did.`;
  return changeOf('malformed_queries', 'rose', sentence, observed, value >= before + MORE_MALFORMED, ciLow > before);
}

/** Minimum change in the share of queries without capital letters, digits and punctuation. */
const OTHER_STYLE = 0.15;

function readStyle(observed: ObservedValue): Sign[] {
  const { value, ciLow, ciHigh, n, before } = observed;
  const sentence = `${percentage(value)} of live queries have no capital letter, digit or punctuation mark (${n} sampled); previously, ${percentage(before)} had none.`;
  const isCertain = ciHigh < before || ciLow > before;
  return changeOf('query_style', 'changed', sentence, observed, Math.abs(value - before) >= OTHER_STYLE, isCertain);
}

/** Minimum drop in positive feedback; the detection of feedback drops uses the same value. */
const LESS_POSITIVE = 0.05;

function readFeedback(observed: ObservedFeedback): Sign[] {
  const { value, ciHigh, n, before, of, isDrop } = observed;
  const sentence =
    of === 'opinions'
      ? `${percentage(value)} of user feedback is positive (${n}); previously, ${percentage(before)} was positive.`
      : `${percentage(value)} of live queries have a click (n = ${n}); previously, ${percentage(before)} had one.`;
  const isLarge = isDrop || value < before - LESS_POSITIVE;
  return changeOf('feedback', 'fell', sentence, observed, isLarge, isDrop || ciHigh < before);
}

/** Minimum change in the calls per episode, as a fraction of the earlier value. */
const OTHER_CALLS = 0.2;
/**
 * Constant part of the minimum rise in repeated calls per episode. The minimum rise is this number plus `OTHER_CALLS`
 * times the earlier number of repeated calls.
 */
const FEW_REPEATS = 0.03;
/** Minimum rise in the share of rewritten queries that look like answers. */
const MORE_ANSWERS = 0.05;
/** Minimum drop in the rewrite gain: the judged score of rewritten queries minus the score of the original texts. */
const LESS_GAIN = 0.05;

function readEpisodes({ episodeCalls, episodeRepeats, answerLike, rewriteGain }: ObservedLive): Sign[] {
  return [
    ...(episodeCalls === null ? [] : [readEpisodeCalls(episodeCalls)]),
    ...(episodeRepeats === null ? [] : [readEpisodeRepeats(episodeRepeats)]),
    ...(answerLike === null ? [] : readAnswerLike(answerLike)),
    ...(rewriteGain === null ? [] : readRewriteGain(rewriteGain)),
  ];
}

function readEpisodeCalls({ value, ciLow, ciHigh, n, before }: ObservedValue): Sign {
  const sentence = `Episodes have ${decimal(value)} retrieval calls on average (${n} episodes); previously, they had ${decimal(before)}.`;
  const values = { before, now: value, unit: 'other' } as const;
  if (ciHigh <= fewestCalls(before)) return sign('episode_calls', 'stopped', sentence, values);
  if (ciLow > before && value >= before * (1 + OTHER_CALLS)) return sign('episode_calls', 'rose', sentence, values);
  const hasFallen = ciHigh < before && value <= before * (1 - OTHER_CALLS);
  return sign('episode_calls', hasFallen ? 'fell' : 'as_before', sentence, values);
}

function readEpisodeRepeats({ value, ciLow, n, before }: ObservedValue): Sign {
  const sentence = `${decimal(value)} calls per episode repeat the results of an earlier call in the same episode (${n} episodes); previously, ${decimal(before)} did.`;
  const values = { before, now: value, unit: 'other' } as const;
  const hasRisen = ciLow > before && value >= before * (1 + OTHER_CALLS) + FEW_REPEATS;
  return sign('episode_repeats', hasRisen ? 'rose' : 'as_before', sentence, values);
}

function readAnswerLike(observed: ObservedValue): Sign[] {
  const { value, ciLow, n, before } = observed;
  const sentence = `${percentage(value)} of rewritten queries look like answers (n = ${n}); previously, ${percentage(before)} did.`;
  return changeOf('rewritten_queries', 'answers', sentence, observed, value >= before + MORE_ANSWERS, ciLow > before);
}

function readRewriteGain(observed: ObservedValue): Sign[] {
  const { value, ciHigh, n, before } = observed;
  const sentence = `Rewriting a query changes its judged score by ${decimal(value)} (${n} queries); previously, the change was ${decimal(before)}.`;
  return changeOf('rewrite_gain', 'fell', sentence, observed, value <= before - LESS_GAIN, ciHigh < before, 'score');
}
