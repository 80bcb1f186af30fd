/** Signs of a golden run: what its queries came to, beside the last good run and the runs around both. */

import { percentage, signed } from '../../../core/format.ts';
import { ANSWER, ERRORS_SHARE } from '../../../golden/rules/run.ts';
import type { RunFailure } from '../../../golden/rules/run-failure.ts';
import type { OlderAnswers, RepeatedAnswers } from './answers-alike.ts';
import { type ScoreLoss, type StageLoss, stageAtFault } from './changed-answers.ts';
import type { HurtGroup, HurtSegments } from './hurt-groups.ts';
import type { ObservedLabels, ObservedLevel, ObservedReference, ObservedRun } from './observations.ts';
import { readAnswers } from './read-answer-signs.ts';
import { type Sign, sign } from './signs.ts';

export function readRunSigns(run: ObservedRun | null): Sign[] {
  if (run === null) return [];
  const { reference } = run;
  return [
    ...readFailures(run),
    ...readLabels(run.labels, reference?.goneBefore ?? null),
    ...readForbidden(run.forbidden),
    ...readJudged(run.returned),
    ...readVersion(run),
    ...(run.level === null ? [] : readLevel(run.level)),
    ...readLatency(run),
    ...(reference === null ? [] : parseBaselineCtr(reference)),
  ];
}

const MOSTLY_FAILING = 0.9;

function readFailures({ outcomes, failure }: ObservedRun): Sign[] {
  const { ok, empty, error, timeout } = outcomes;
  const total = ok + empty + error + timeout;
  if (total === 0) return [];
  const share = (error + timeout) / total;
  const values = { before: null, now: share, unit: 'share' } as const;
  if (share < ERRORS_SHARE)
    return [sign('failures', 'none', `${total - error - timeout} of ${total} golden queries were answered.`, values)];
  const extent = share < MOSTLY_FAILING ? 'some' : 'most';
  if (timeout > error) {
    const sentence = `${timeout} of ${total} golden queries timed out${error === 0 ? '' : `, ${error} failed`}.`;
    return [
      sign('failures', extent, sentence, values),
      sign('failure_kind', 'timeouts', 'Most failures are timeouts.'),
    ];
  }
  const reason = failure === null ? '.' : `: ${failure.message.replace(/\.$/, '')}.`;
  const sentence = `${error + timeout} of ${total} golden queries failed${reason}`;
  return [sign('failures', extent, sentence, values), kindOf(failure)];
}

const kinds = [
  ['denied', /^http_(401|403|407)$/, 'The retriever refuses the credentials.'],
  ['throttled', /^http_429$/, 'The retriever says that it is asked too often.'],
  [
    'not_understood',
    /^(not_json|no_result_list|missing_id|not_http|bad_encoding|http_redirect)$/,
    'Something answers, but with no list of results.',
  ],
] as const;
const otherErrors = ['errors', null, 'Most failures are errors of the call.'] as const;

function kindOf(failure: RunFailure | null): Sign {
  const [kind, , sentence] = kinds.find(([, codes]) => codes.test(failure?.code ?? '')) ?? otherErrors;
  return sign('failure_kind', kind, sentence);
}

/** p95 must at least double, and by more than a busy machine explains. */
const SLOWER = 2;
const SLOWER_MS = 50;
const FASTER_MS = 5;

/** From this share of timeouts on, the 95th percentile of all calls is beyond the time limit. */
const TIMED_OUT = 0.05;

function readLatency({ latency95Ms: now, slow, outcomes, reference }: ObservedRun): Sign[] {
  const before = reference?.latency95Ms ?? null;
  if (now === null || before === null) return [];
  const { ok, empty, error, timeout } = outcomes;
  const timedOut = timeout / (ok + empty + error + timeout);
  if (timedOut >= TIMED_OUT) {
    const sentence = `${percentage(timedOut)} of the calls took longer than the time limit.`;
    return [sign('latency', 'rose', sentence), ...readWarming(now, slow, reference)];
  }
  const rose = now >= SLOWER * before && now - before >= SLOWER_MS;
  const fell = SLOWER * now <= before && before - now >= FASTER_MS;
  const sentence = `Answers took ${Math.round(now)} ms (95th percentile), ${Math.round(before)} ms before.`;
  const latency = sign('latency', rose ? 'rose' : fell ? 'fell' : 'steady', sentence, { before, now, unit: 'ms' });
  const isSlow = rose || outcomes.timeout > 0;
  return isSlow ? [latency, ...readWarming(now, slow, reference)] : [latency];
}

const MOSTLY_EARLY = 0.75;
/** Standard errors by which that must be more than the half that chance puts there. */
const SURELY = 2.5;

function readWarming(now: number, slow: ObservedRun['slow'], reference: ObservedReference | null): Sign[] {
  const previous = reference?.previous?.latency95Ms ?? null;
  if (slow === null && previous === null) return [];
  const { queries, early } = slow ?? { queries: 0, early: 0 };
  const byChance = queries / 2 + (SURELY * Math.sqrt(queries)) / 2;
  const fallsWithin = queries > 0 && early >= Math.max(MOSTLY_EARLY * queries, byChance);
  const fallsSince = previous !== null && previous >= SLOWER * now && previous - now >= SLOWER_MS;
  const within =
    slow === null ? '' : ` Of ${queries} queries that took far longer, ${early} are in the first half of the run.`;
  const since = previous === null ? '' : ` In the bad run before, answers took ${Math.round(previous)} ms.`;
  return [sign('warming', fallsWithin || fallsSince ? 'falls' : 'stays', `${within}${since}`.trim())];
}

const MANY_GONE = 0.2;
const SOME_GONE = 0.005;

function readLabels(labels: ObservedLabels | null, goneBefore: number | null): Sign[] {
  if (labels === null || labels.probed === 0) return [];
  const { probed, stale, lost } = labels;
  const gone = stale + lost;
  const before = goneBefore === null ? '' : `, ${goneBefore} before`;
  const sentence = `${gone} of ${probed} judged documents (${percentage(gone / probed)}) are gone from the store${before}.`;
  // What was gone before already is no news.
  const news = Math.max(0, gone - (goneBefore ?? 0)) / probed;
  const values = {
    before: goneBefore === null ? null : goneBefore / probed,
    now: gone / probed,
    unit: 'share',
  } as const;
  if (news <= SOME_GONE) return [sign('labels', 'alive', sentence, values)];
  const fate =
    lost > stale
      ? sign('gone_documents', 'lost', `Nothing in the store took the place of ${lost} of them.`)
      : sign(
          'gone_documents',
          'superseded',
          `${stale} of them are in the store under another id, or were deleted on purpose.`,
        );
  return [sign('labels', news >= MANY_GONE ? 'many_gone' : 'some_gone', sentence, values), fate];
}

function readForbidden(forbidden: ObservedRun['forbidden']): Sign[] {
  if (forbidden === null || forbidden.asked === 0) return [];
  const { asked, results } = forbidden;
  if (results === 0) return [sign('forbidden', 'none', `No forbidden document came back to ${asked} queries.`)];
  const sentence = `${results} forbidden ${results === 1 ? 'document' : 'documents'} came back to ${asked} queries, asked twice.`;
  return [sign('forbidden', 'some', sentence)];
}

/** Fewer returned documents may all be unjudged by chance. */
const MIN_RETURNED = 20;

function readJudged({ documents, judged }: ObservedRun['returned']): Sign[] {
  if (documents < MIN_RETURNED) return [];
  if (judged > 0) return [sign('judged', 'some', `${judged} of ${documents} returned documents are judged.`)];
  return [sign('judged', 'none', `None of the ${documents} returned documents is judged.`)];
}

/** A level that was not higher by more than this was no drop. */
const WAS_HIGHER = 0.03;
/** How much higher than the golden score the rating must be; more for shares of opinions, which are no scores. */
const FAR_HIGHER = { judge: 0.2, users: 0.35 } as const;

function readLevel({ measure, now, first, threshold, opinions }: ObservedLevel): Sign[] {
  const numbers = `${measure} is ${now.toFixed(2)}, and was ${first.toFixed(2)} in the first run of the set`;
  const level = sign(
    'level',
    first >= threshold || first - now > WAS_HIGHER ? 'was_higher' : 'always_low',
    `${numbers}.`,
    { before: first, now, unit: 'score' },
  );
  // Labels that became wrong later show in what became of their documents.
  if (opinions === null || level.state === 'was_higher') return [level];
  const { value, ciLow, ciHigh, n, by } = opinions;
  const said =
    by === 'judge'
      ? `The judge gives live queries ${value.toFixed(2)} (${n} queries)`
      : `${percentage(value)} of the opinions of users are positive (${n})`;
  const sentence = `${said}, where ${measure} of the golden set is ${now.toFixed(2)}.`;
  if (ciLow >= now + FAR_HIGHER[by]) return [level, sign('opinions', 'higher', sentence)];
  return ciHigh < now + FAR_HIGHER[by] ? [level, sign('opinions', 'agree', sentence)] : [level];
}

function readVersion({ goldenSet, reference }: ObservedRun): Sign[] {
  if (reference === null) return [];
  if (reference.isSameVersion) return [sign('golden_set', 'same', `${goldenSet} is of the same version as before.`)];
  const sentence = `${goldenSet} has another version than before, which was ${reference.version}.`;
  return [sign('golden_set', 'new_version', sentence)];
}

function parseBaselineCtr({ answers, loss, stages, texts, previous, older }: ObservedReference): Sign[] {
  // A retriever that never answers twice alike is not at fault for it now.
  const usual = older?.withReference ?? 1;
  return [
    ...readAnswers(answers, texts, usual),
    ...(loss === null ? [] : readGroups(loss)),
    ...(stages === null ? [] : readStages(stages)),
    ...(previous?.answers == null ? [] : readAgain(previous.answers)),
    ...(older === null ? [] : readOlder(older)),
  ];
}

/** A mean loss of a query that is worth looking at by segment. */
const LOST = 0.02;
/** A group is alone with a loss when the others lost less than this share of what it lost. */
const ALONE = 0.1;
/** Chance from which on a group that was chosen among several may be hurt by chance alone. */
const BY_CHANCE = 0.05;

/** Of a segment and a kind that are hurt alone, the one that tells more apart counts: they often hold the same queries. */
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
  return sign(
    'segment',
    'several',
    `Queries of ${names.length} segments lost (${shown}), those of ${others} others did not.`,
  );
}

const MAX_NAMED = 3;

/** How much more a kind must explain than a configured segment. */
const CLEARER = 1.1;

const contrastOf = ({ inside, outside }: HurtGroup): number => inside - outside;

function isAlone({ inside, outside }: HurtGroup): boolean {
  return outside <= ALONE * inside && outside < 2 * LOST;
}

function isHurtAlone(group: HurtGroup | null): group is HurtGroup {
  return group !== null && isAlone(group) && group.chance <= BY_CHANCE;
}

function readGroup(name: 'segment' | 'query_kind', group: HurtGroup | null): Sign[] {
  if (group === null || (isAlone(group) && group.chance > BY_CHANCE)) return [];
  const { n, inside, outside, searched } = group;
  const what = name === 'segment' ? 'segments' : 'kinds';
  const sentence = `A query ${group.name} lost ${inside.toFixed(3)} (${n} queries), one of the others ${outside.toFixed(3)} (${searched} ${what} compared).`;
  return [sign(name, isAlone(group) ? 'one' : 'spread', sentence)];
}

function readStages(loss: StageLoss): Sign[] {
  const { n, k, found } = loss;
  const fault = stageAtFault(loss);
  if (fault === null) return [];
  const answers = `the first ${k} hold ${percentage(found.now)}, ${percentage(found.before)} before (${n} questions)`;
  if (fault.kind === 'steady')
    return [sign('stage', 'steady', `No stage loses more relevant documents than it did: ${answers}.`)];
  const { name, before, now, ciLow, ciHigh } = fault.step;
  const stage = name === ANSWER ? 'the order and cut-off of the answer, no earlier stage' : `the stage ${name}`;
  const lost = `${percentage(now)} of the relevant documents, ${percentage(before)} before (95 % ${signed(ciLow)} to ${signed(ciHigh)})`;
  return [sign('stage', fault.kind, `Most is lost by ${stage}: ${lost}; ${answers}.`)];
}

const MIN_CHANGED = 6;
const MOST = 0.75;

/** Of answers that alternate, the part that does so in each direction at least: those that all came back were repaired. */
const EACH_WAY = 0.2;

function readAgain({ changed, inOne, back, alike, unlike }: RepeatedAnswers): Sign[] {
  if (changed < MIN_CHANGED) return [];
  const sentence = `Of ${changed} queries that changed in the last two bad runs, ${alike} got the same answer twice, ${inOne} the old one once, ${unlike} two new ones.`;
  if (alike >= MOST * changed) return [sign('again', 'repeats', sentence)];
  if (unlike >= MOST * changed) return [sign('again', 'differs', sentence)];
  const isBothWays = Math.min(back, inOne - back) >= EACH_WAY * inOne;
  return isBothWays && inOne >= changed / 4 && unlike <= changed / 5 ? [sign('again', 'alternates', sentence)] : [];
}

/** Answers that are those of long ago are so for most queries, and for far more than those of the last good run. */
const ALIKE = 0.8;
const FAR_MORE = 0.3;
/** A run that is less like the last good one is of another index. */
const OF_ANOTHER = 0.7;

function readOlder({ at, withNow, withReference, referenceWithNow }: OlderAnswers): Sign[] {
  const sentence = `${percentage(withNow)} of the answers are those of the run of ${minute(at)}, ${percentage(referenceWithNow)} those of the last good run.`;
  if (withNow >= ALIKE && withNow - referenceWithNow >= FAR_MORE) return [sign('older_answers', 'alike', sentence)];
  // Runs that all answered alike do not tell old from new.
  return withReference < OF_ANOTHER && referenceWithNow < ALIKE ? [sign('older_answers', 'unlike', sentence)] : [];
}

function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16)}Z`;
}
