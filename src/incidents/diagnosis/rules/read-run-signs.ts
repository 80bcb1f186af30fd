/**
 * Reads the signs from a golden run and from its comparison with the last good run, the preceding bad run and older
 * runs.
 */

import { decimal, formatValue, minute, percentage, plural, signed } from '../../../core/format.ts';
import { ANSWER, ERRORS_SHARE, failedShare } from '../../../golden/rules/run.ts';
import type { RunFailure } from '../../../golden/rules/run-failure.ts';
import type { OlderAnswers, RepeatedAnswers } from './answers-alike.ts';
import { type ScoreLoss, type StageLoss, stageAtFault } from './changed-answers.ts';
import { contrastOf, type HurtGroup, type HurtSegments } from './hurt-groups.ts';
import type { ObservedLabels, ObservedLevel, ObservedReference, ObservedRun } from './observations.ts';
import { readAnswers } from './read-answer-signs.ts';
import { type Sign, sign } from './signs.ts';

export function readRunSigns(run: ObservedRun | null): Sign[] {
  if (run === null) return [];
  const { reference } = run;
  return [
    ...readFailures(run),
    ...readLabels(run.labels, reference?.labels ?? null),
    ...readForbidden(run.forbidden),
    ...readJudged(run.returned),
    ...readVersion(run),
    ...(run.level === null ? [] : readLevel(run.level)),
    ...readLatency(run),
    ...(reference === null ? [] : readReference(reference)),
  ];
}

const MOSTLY_FAILING = 0.9;

function readFailures({ outcomes, failure }: ObservedRun): Sign[] {
  const { ok, empty, error, timeout } = outcomes;
  const total = ok + empty + error + timeout;
  if (total === 0) return [];
  const share = failedShare(outcomes);
  const values = { before: null, now: share, unit: 'share' } as const;
  if (share < ERRORS_SHARE)
    return [sign('failures', 'none', `${total - error - timeout} of ${total} golden queries succeeded.`, values)];
  const extent = share < MOSTLY_FAILING ? 'some' : 'most';
  if (timeout > error) {
    const sentence = `${timeout} of ${total} golden queries timed out${error === 0 ? '' : `, and ${error} failed`}.`;
    return [
      sign('failures', extent, sentence, values),
      sign('failure_kind', 'timeouts', 'Most failures are timeouts.'),
    ];
  }
  const reason = failure === null ? '.' : `: ${failure.message.replace(/\.$/, '')}.`;
  const unsent = failure?.notAsked ?? 0;
  const others = unsent === 0 ? '' : `, and ${unsent} were not sent`;
  const sentence = `${error + timeout - unsent} of ${total} golden queries failed${others}${reason}`;
  return [sign('failures', extent, sentence, values), kindOf(failure)];
}

const kinds = [
  ['denied', /^http_(401|403|407)$/, 'The retriever rejects the credentials.'],
  ['throttled', /^http_429$/, 'The retriever responds with HTTP 429 (too many requests).'],
  [
    'not_understood',
    /^(not_json|no_result_list|missing_id|not_http|bad_encoding|http_redirect)$/,
    'The response is not a result list.',
  ],
] as const;
const otherErrors = ['errors', null, 'Most failures are retriever or connection errors.'] as const;

function kindOf(failure: RunFailure | null): Sign {
  const [kind, , sentence] = kinds.find(([, codes]) => codes.test(failure?.code ?? '')) ?? otherErrors;
  return sign('failure_kind', kind, sentence);
}

/** A change in latency counts only if the higher 95th percentile is at least this multiple of the lower one. */
const SLOWER = 2;
/** Minimum rise of the 95th percentile in milliseconds, larger than the delays that a busy host causes. */
const SLOWER_MS = 50;
const FASTER_MS = 5;

/** If at least this share of calls times out, the 95th percentile of all calls exceeds the time limit. */
const TIMED_OUT = 0.05;

function readLatency({ latency95Ms: now, slow, outcomes, reference }: ObservedRun): Sign[] {
  const before = reference?.latency95Ms ?? null;
  if (now === null || before === null) return [];
  const { ok, empty, error, timeout } = outcomes;
  const timedOut = timeout / (ok + empty + error + timeout);
  if (timedOut >= TIMED_OUT) {
    const sentence = `${percentage(timedOut)} of the calls exceeded the time limit.`;
    return [sign('latency', 'rose', sentence), ...readWarming(now, slow, reference)];
  }
  const rose = now >= SLOWER * before && now - before >= SLOWER_MS;
  const fell = SLOWER * now <= before && before - now >= FASTER_MS;
  const sentence = `Calls took ${formatValue(now, 'ms')} (95th percentile); previously, they took ${formatValue(before, 'ms')}.`;
  const latency = sign('latency', rose ? 'rose' : fell ? 'fell' : 'steady', sentence, { before, now, unit: 'ms' });
  const isSlow = rose || outcomes.timeout > 0;
  return isSlow ? [latency, ...readWarming(now, slow, reference)] : [latency];
}

const MOSTLY_EARLY = 0.75;
/**
 * The share of slow queries that fall in the first half of the run must exceed its expected value, one half, by this
 * many standard errors.
 */
const SURELY = 2.5;

function readWarming(now: number, slow: ObservedRun['slow'], reference: ObservedReference | null): Sign[] {
  const previous = reference?.previous?.latency95Ms ?? null;
  if (slow === null && previous === null) return [];
  const { queries, early } = slow ?? { queries: 0, early: 0 };
  const byChance = queries / 2 + (SURELY * Math.sqrt(queries)) / 2;
  const fallsWithin = queries > 0 && early >= Math.max(MOSTLY_EARLY * queries, byChance);
  const fallsSince = previous !== null && previous >= SLOWER * now && previous - now >= SLOWER_MS;
  const within =
    slow === null
      ? ''
      : ` Of ${queries} queries that took far longer than usual, ${early} were in the first half of the run, so latency ${fallsWithin ? 'dropped' : 'did not drop'} during the run.`;
  const since = previous === null ? '' : ` In the preceding bad run, calls took ${formatValue(previous, 'ms')}.`;
  return [sign('warming', fallsWithin || fallsSince ? 'falls' : 'stays', `${within}${since}`.trim())];
}

const MANY_GONE = 0.2;
const SOME_GONE = 0.005;

function readLabels(labels: ObservedLabels | null, earlier: ObservedLabels | null): Sign[] {
  if (labels === null || labels.probed === 0) return [];
  const { probed, stale, deleted, lost } = labels;
  const gone = stale + lost;
  const goneBefore = earlier && earlier.stale + earlier.lost;
  const before = goneBefore === null ? '' : ` (previously ${goneBefore})`;
  const fateWords = stale > lost + 2 * deleted ? 'no longer in the store under their ids' : 'missing from the store';
  const sentence = `${gone} of ${probed} judged documents (${percentage(gone / probed)}) are ${fateWords}${before}.`;
  // Documents that were already missing at the time of the reference run do not count.
  const news = Math.max(0, gone - (goneBefore ?? 0)) / probed;
  const values = { before: goneBefore && goneBefore / probed, now: gone / probed, unit: 'share' } as const;
  if (news <= SOME_GONE) return [sign('labels', 'alive', sentence, values)];
  return [sign('labels', news >= MANY_GONE ? 'many_gone' : 'some_gone', sentence, values), readFate(labels, earlier)];
}

/**
 * Missing documents count as lost if more than this share of them have no replacement. If several documents get the
 * same id, only one of them stays in the store, so the others are lost although its text has a new id.
 */
const LOST_SHARE = 0.25;

/**
 * Returns the sign for what happened to the documents that have gone missing since the reference run: they were lost,
 * or most of the others were superseded or deleted.
 */
function readFate(labels: ObservedLabels, earlier: ObservedLabels | null): Sign {
  const since = (count: (of: ObservedLabels) => number): number =>
    Math.max(0, count(labels) - (earlier === null ? 0 : count(earlier)));
  const superseded = since(({ stale, deleted }) => stale - deleted);
  const deleted = since((of) => of.deleted);
  const lost = since((of) => of.lost);
  const documents = plural(superseded + deleted + lost, 'missing judged document');
  if (lost > LOST_SHARE * (superseded + deleted + lost)) {
    const have = lost === 1 ? 'has' : 'have';
    return sign('gone_documents', 'lost', `${lost} of ${documents} ${have} no replacement in the store.`);
  }
  if (deleted <= superseded)
    return sign('gone_documents', 'superseded', `The text of ${superseded} of ${documents} has a new id in the store.`);
  const were = deleted === 1 ? 'was' : 'were';
  return sign('gone_documents', 'deleted', `${deleted} of ${documents} ${were} deleted in the manifest.`);
}

function readForbidden(forbidden: ObservedRun['forbidden']): Sign[] {
  if (forbidden === null || forbidden.asked === 0) return [];
  const { asked, results } = forbidden;
  if (results === 0)
    return [sign('forbidden', 'none', `No forbidden document was returned for ${plural(asked, 'query', 'queries')}.`)];
  const sentence = `${results} forbidden ${results === 1 ? 'document was' : 'documents were'} returned for ${plural(asked, 'query', 'queries')}, and returned again when each query was repeated.`;
  return [sign('forbidden', 'some', sentence)];
}

/**
 * Minimum number of returned documents for the sign `judged`. If there are fewer documents, it may be due to chance
 * that none of them is judged.
 */
const MIN_RETURNED = 20;

function readJudged({ documents, judged }: ObservedRun['returned']): Sign[] {
  if (documents < MIN_RETURNED) return [];
  if (judged > 0) return [sign('judged', 'some', `${judged} of ${documents} returned documents have judgments.`)];
  return [sign('judged', 'none', `None of the ${documents} returned documents has a judgment.`)];
}

/** Minimum drop from the first run; a smaller difference does not count as a drop. */
const WAS_HIGHER = 0.03;
/**
 * Minimum difference between a rating of live results and the golden score; larger for user feedback, because a share
 * of positive feedback is not a score.
 */
const FAR_HIGHER = { judge: 0.2, users: 0.35 } as const;

function readLevel({ measure, now, first, threshold, opinions }: ObservedLevel): Sign[] {
  const numbers = `${measure} is ${decimal(now)}; it was ${decimal(first)} in the first run of the golden set.`;
  const state = first >= threshold || first - now > WAS_HIGHER ? 'was_higher' : 'always_low';
  const level = sign('level', state, numbers, { before: first, now, unit: 'score' });
  // Judgments that became wrong after the first run show up as missing judged documents. Ratings are therefore compared
  // only if the score has always been low.
  if (opinions === null || level.state === 'was_higher') return [level];
  const { value, ciLow, ciHigh, n, by } = opinions;
  const said =
    by === 'judge'
      ? `The judged score of live queries is ${decimal(value)} (${n} queries)`
      : `${percentage(value)} of user feedback is positive (${n})`;
  const sentence = `${said}; ${measure} of the golden set is ${decimal(now)}.`;
  if (ciLow >= now + FAR_HIGHER[by]) return [level, sign('opinions', 'higher', sentence)];
  return ciHigh < now + FAR_HIGHER[by] ? [level, sign('opinions', 'agree', sentence)] : [level];
}

function readVersion({ goldenSet, reference }: ObservedRun): Sign[] {
  if (reference === null) return [];
  if (reference.isSameVersion)
    return [sign('golden_set', 'same', `The version of ${goldenSet} is the same as in the last good run.`)];
  const sentence = `The version of ${goldenSet} changed; the last good run used version ${reference.version}.`;
  return [sign('golden_set', 'new_version', sentence)];
}

function readReference({ answers, loss, stages, texts, previous, older }: ObservedReference): Sign[] {
  // If results vary even between good runs, variation in this run is no evidence against the retriever.
  const usual = older?.withReference ?? 1;
  return [
    ...readAnswers(answers, texts, usual),
    ...(loss === null ? [] : readGroups(loss)),
    ...(stages === null ? [] : readStages(stages)),
    ...(previous?.answers == null ? [] : readAgain(previous.answers)),
    ...(older === null ? [] : readOlder(older)),
  ];
}

/** Groups of queries are compared only if the mean score dropped by at least this much. */
const LOST = 0.02;
/**
 * A group is the only affected group if the mean loss of all other queries is at most this share of the group's mean
 * loss.
 */
const ALONE = 0.1;
/** Above this probability, chance alone may explain an affected group that was chosen among several. */
const BY_CHANCE = 0.05;

/**
 * Reads the affected group. If both a segment and a kind of query qualify, uses only the more distinctive of the two,
 * because they often contain the same queries.
 */
function readGroups({ before, now, segment, segments, kind }: ScoreLoss): Sign[] {
  if (before - now < LOST) return [];
  if (segments !== null && !isHurtAlone(segment)) return [readSegments(segments)];
  const isKind = isHurtAlone(kind) && (!isHurtAlone(segment) || contrastOf(kind) > CLEARER * contrastOf(segment));
  return [
    ...(isKind ? [] : readGroup('segment', segment)),
    ...(isHurtAlone(segment) && !isKind ? [] : readGroup('query_kind', kind)),
  ];
}

function readSegments({ names, others }: HurtSegments): Sign {
  const shown = names.length > MAX_NAMED ? `${names.slice(0, MAX_NAMED).join(', ')} and others` : names.join(', ');
  const sentence = `Scores dropped in ${names.length} segments (${shown}), but not in ${others} others.`;
  return sign('segment', 'several', sentence);
}

const MAX_NAMED = 3;

/** A kind of query replaces a configured segment only if it explains the loss better by this factor. */
const CLEARER = 1.1;

function isAlone({ inside, outside }: HurtGroup): boolean {
  return outside <= ALONE * inside && outside < 2 * LOST;
}

function isHurtAlone(group: HurtGroup | null): group is HurtGroup {
  return group !== null && isAlone(group) && group.chance <= BY_CHANCE;
}

function readGroup(name: 'segment' | 'query_kind', group: HurtGroup | null): Sign[] {
  if (group === null || (isAlone(group) && group.chance > BY_CHANCE)) return [];
  const { n, inside, outside, searched } = group;
  const what = name === 'segment' ? 'segments' : 'kinds of queries';
  const sentence = `Queries ${group.name} lost ${decimal(inside)} in score on average (${n} queries); the other queries lost ${decimal(outside)}. recalld compared ${searched} ${what}.`;
  return [sign(name, isAlone(group) ? 'one' : 'spread', sentence)];
}

function readStages(loss: StageLoss): Sign[] {
  const { n, k, found } = loss;
  const fault = stageAtFault(loss);
  if (fault === null) return [];
  const answers = `the top ${k} results contain ${percentage(found.now)} of them (previously ${percentage(found.before)}; ${n} queries)`;
  if (fault.kind === 'steady')
    return [sign('stage', 'steady', `No stage loses more relevant documents than before: ${answers}.`)];
  const { name, before, now, ciLow, ciHigh } = fault.step;
  const stage = name === ANSWER ? 'the final order and cutoff, not an earlier stage' : `the stage ${name}`;
  const lost = `${percentage(now)} of the relevant documents are lost there (previously ${percentage(before)}; 95 % CI of the change ${signed(ciLow)} to ${signed(ciHigh)})`;
  return [sign('stage', fault.kind, `Most of the loss is at ${stage}: ${lost}; ${answers}.`)];
}

const MIN_CHANGED = 6;
const MOST = 0.75;

/**
 * Share of the queries whose results changed in only one of the two bad runs. Results alternate if at least this share
 * of these queries changed only in the first run, and at least this share only in the second run. If all of these
 * queries changed only in the first run, the fault has been repaired.
 */
const EACH_WAY = 0.2;

function readAgain({ changed, inOne, back, alike, unlike }: RepeatedAnswers): Sign[] {
  if (changed < MIN_CHANGED) return [];
  const sentence = `Of ${changed} queries with changed results in the last two bad runs, ${alike} got the same new results twice, ${inOne} got the old results once, and ${unlike} got two different new results.`;
  if (alike >= MOST * changed) return [sign('again', 'repeats', sentence)];
  if (unlike >= MOST * changed) return [sign('again', 'differs', sentence)];
  const isBothWays = Math.min(back, inOne - back) >= EACH_WAY * inOne;
  // Another index returns the same new results each time it responds.
  const isOneOther = unlike <= Math.max(1, alike);
  return isBothWays && isOneOther && inOne >= changed / 4 && unlike <= changed / 5
    ? [sign('again', 'alternates', sentence)]
    : [];
}

/** Results count as coming from an old index only if at least this share of the lists match those of the old run. */
const ALIKE = 0.8;
/**
 * The share of lists that match the old run must exceed the share of lists that match the last good run by at least
 * this much.
 */
const FAR_MORE = 0.3;
/**
 * An older run comes from another index if less than this share of its result lists match those of the last good run.
 */
const OF_ANOTHER = 0.7;

function readOlder({ at, withNow, withReference, referenceWithNow }: OlderAnswers): Sign[] {
  const sentence = `${percentage(withNow)} of the result lists match those of the run at ${minute(at)} UTC; ${percentage(referenceWithNow)} match those of the last good run.`;
  if (withNow >= ALIKE && withNow - referenceWithNow >= FAR_MORE) return [sign('older_answers', 'alike', sentence)];
  // If all runs have the same results, an old index cannot be detected.
  return withReference < OF_ANOTHER && referenceWithNow < ALIKE ? [sign('older_answers', 'unlike', sentence)] : [];
}
