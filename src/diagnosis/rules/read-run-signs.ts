/** Signs of a golden run: what its queries came to, beside the last good run and the runs around both. */

import { ANSWER, ERRORS_SHARE } from '../../golden/rules/run.ts';
import type { RunFailure } from '../../golden/rules/run-failure.ts';
import { percent, signed } from '../../text/spelling.ts';
import { type ChangedAnswers, type ScoreLoss, type StageLoss, stageAtFault } from './changed-answers.ts';
import type { ObservedLabels, ObservedReference, ObservedRun, OlderAnswers, RepeatedAnswers } from './observations.ts';
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
    ...readLatency(run),
    ...(reference === null ? [] : readReference(reference)),
  ];
}

const MOSTLY_FAILING = 0.9;

function readFailures({ outcomes, failure }: ObservedRun): Sign[] {
  const { ok, empty, error, timeout } = outcomes;
  const total = ok + empty + error + timeout;
  if (total === 0) return [];
  const share = (error + timeout) / total;
  if (share < ERRORS_SHARE)
    return [sign('failures', 'none', `${total - error - timeout} of ${total} golden queries were answered.`)];
  const extent = share < MOSTLY_FAILING ? 'some' : 'most';
  if (timeout > error) {
    const sentence = `${timeout} of ${total} golden queries timed out${error === 0 ? '' : `, ${error} failed`}.`;
    return [sign('failures', extent, sentence), sign('failure_kind', 'timeouts', 'Most failures are timeouts.')];
  }
  const told = failure === null ? '.' : `: ${failure.message.replace(/\.$/, '')}.`;
  const sentence = `${error + timeout} of ${total} golden queries failed${told}`;
  return [sign('failures', extent, sentence), kindOf(failure)];
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

function readLatency({ latency95Ms: now, slow, outcomes, reference }: ObservedRun): Sign[] {
  const before = reference?.latency95Ms ?? null;
  if (now === null || before === null) return [];
  const rose = now >= SLOWER * before && now - before >= SLOWER_MS;
  const fell = SLOWER * now <= before && before - now >= FASTER_MS;
  const sentence = `Answers took ${Math.round(now)} ms (95th percentile), ${Math.round(before)} ms before.`;
  const latency = sign('latency', rose ? 'rose' : fell ? 'fell' : 'steady', sentence);
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
  const sentence = `${gone} of ${probed} judged documents (${percent(gone / probed)}) are gone from the store${before}.`;
  // What was gone before already is no news.
  const news = Math.max(0, gone - (goneBefore ?? 0)) / probed;
  if (news <= SOME_GONE) return [sign('labels', 'alive', sentence)];
  const fate =
    lost > stale
      ? sign('gone_documents', 'lost', `Nothing in the store took the place of ${lost} of them.`)
      : sign(
          'gone_documents',
          'superseded',
          `${stale} of them are in the store under another id, or were deleted on purpose.`,
        );
  return [sign('labels', news >= MANY_GONE ? 'many_gone' : 'some_gone', sentence), fate];
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

function readVersion({ goldenSet, reference }: ObservedRun): Sign[] {
  if (reference === null) return [];
  if (reference.isSameVersion) return [sign('golden_set', 'same', `${goldenSet} is of the same version as before.`)];
  const sentence = `${goldenSet} has another version than before, which was ${reference.version}.`;
  return [sign('golden_set', 'new_version', sentence)];
}

/** Means over fewer queries say nothing. */
const MIN_ANSWERS = 5;

function readReference({ answers, loss, stages, previous, older }: ObservedReference): Sign[] {
  // A retriever that never answers twice alike is not at fault for it now.
  const usual = older?.withReference ?? 1;
  return [
    ...(answers.answered < MIN_ANSWERS ? [] : readAnswers(answers, usual)),
    ...(loss === null ? [] : readSegment(loss)),
    ...(stages === null ? [] : readStages(stages)),
    ...(previous?.answers == null ? [] : readAgain(previous.answers)),
    ...(older === null ? [] : readOlder(older)),
  ];
}

function readAnswers(answers: ChangedAnswers, usual: number): Sign[] {
  // Of answers that are empty there is nothing else to tell.
  if (answers.empty >= MOSTLY_EMPTY * answers.answered) return [...readEmptiness(answers), ...readScore(answers)];
  return [
    ...readEmptiness(answers),
    ...readScore(answers),
    ...readLength(answers),
    ...readResults(answers),
    ...readThoseLeft(answers),
    ...readOrder(answers, usual),
    ...readDocuments(answers),
    ...readRenamed(answers),
  ];
}

const EMPTIER = 0.02;
const MOSTLY_EMPTY = 0.9;

function readEmptiness({ answered, emptyBefore, empty }: ChangedAnswers): Sign[] {
  const rose = (empty - emptyBefore) / answered >= EMPTIER;
  const sentence = `${empty} of ${answered} answers are empty, ${emptyBefore} before.`;
  const extent = empty / answered >= MOSTLY_EMPTY ? 'most' : 'some';
  return [sign('empty_answers', rose ? extent : 'as_before', sentence)];
}

function readScore({ score }: ChangedAnswers): Sign[] {
  if (score === null || score.n < MIN_ANSWERS) return [];
  const { measure, difference, ciLow, ciHigh, n } = score;
  const numbers = `${signed(difference, 3)} (95 % ${signed(ciLow, 3)} to ${signed(ciHigh, 3)}) over ${n} queries`;
  if (score.verdict === 'regression')
    return [sign('score', 'fell', `${measure} of answered queries with live labels fell: ${numbers}.`)];
  if (score.verdict === 'inconclusive')
    return [
      sign('score', 'unsure', `${measure} of answered queries with live labels may have fallen or not: ${numbers}.`),
    ];
  return [sign('score', 'steady', `${measure} of answered queries with live labels stands: ${numbers}.`)];
}

/** An answer of three quarters of its length is shorter. */
const SHORTER = 0.75;
const MOSTLY_CUT = 0.6;

function readLength({ length, cut }: ChangedAnswers): Sign[] {
  if (length === null) return [];
  const { before, now } = length;
  const numbers = `Answers have ${now.toFixed(1)} documents, ${before.toFixed(1)} before`;
  if (now > SHORTER * before || cut === null) return [sign('answer_length', 'as_before', `${numbers}.`)];
  const sentence = `${numbers}; ${percent(cut)} of the shorter ones are the first documents of before.`;
  return [sign('answer_length', cut >= MOSTLY_CUT ? 'cut' : 'thinned', sentence)];
}

const INTACT = 0.95;
const SCRAMBLED = 0.15;

function readResults({ kept, answered }: ChangedAnswers): Sign[] {
  if (kept === null) return [];
  const state = kept >= INTACT ? 'intact' : kept < SCRAMBLED ? 'scrambled' : 'disturbed';
  const sentence = `Queries still get ${percent(kept)} of the documents that they got before (${answered} queries).`;
  return [sign('results', state, sentence)];
}

const STAY = 0.93;
const MOVE = 0.85;

/** Where documents are taken away, the others stay with their queries. */
function readThoseLeft({ kept, keptOfThere }: ChangedAnswers): Sign[] {
  if (kept === null || keptOfThere === null || kept >= INTACT) return [];
  const sentence = `Of the documents that any query still gets, queries kept ${percent(keptOfThere)} of theirs.`;
  if (keptOfThere >= STAY) return [sign('those_left', 'stay', sentence)];
  return keptOfThere < MOVE ? [sign('those_left', 'move', sentence)] : [];
}

/** Half of the pairs stand the other way round where the order is another one altogether. */
const DISORDERED = 0.15;
/** Of documents that are others for the most part, the rest have no order of their own. */
const ENOUGH_KEPT = 0.4;

function readOrder({ disorder, kept }: ChangedAnswers, usual: number): Sign[] {
  if (disorder === null || kept === null || kept < ENOUGH_KEPT) return [];
  const isChanged = disorder >= DISORDERED + (1 - usual) / 4;
  const sentence = `Of the documents that a query still gets, ${percent(disorder)} of all pairs stand the other way round.`;
  return [sign('order', isChanged ? 'changed' : 'as_before', sentence)];
}

const SOME_DOCUMENTS = 0.05;
/** Share of the vanished documents that have a successor when documents were replaced. */
const REPLACED = 0.5;
const COLLAPSED = 0.2;

function readDocuments({ documentsBefore, vanished, appeared, answered, empty }: ChangedAnswers): Sign[] {
  if (documentsBefore === 0) return [];
  const share = vanished / documentsBefore;
  const sentence = `Of ${documentsBefore} documents that were retrieved before, ${vanished} no longer are, and ${appeared} are new.`;
  const state = share < SOME_DOCUMENTS ? 'same' : appeared >= REPLACED * vanished ? 'replaced' : 'vanished';
  const now = documentsBefore - vanished + appeared;
  const isCollapsed = now <= COLLAPSED * documentsBefore && empty < answered / 2;
  const variety = `All answers together have ${now} different documents, ${documentsBefore} before.`;
  return [sign('documents', state, sentence), sign('variety', isCollapsed ? 'collapsed' : 'as_before', variety)];
}

const RENAMED = 0.7;
const NOT_RENAMED = 0.4;

function readRenamed({ renamed, vanished, documentsBefore }: ChangedAnswers): Sign[] {
  // Documents that are still there did not get other ids.
  if (renamed === null || vanished < SOME_DOCUMENTS * documentsBefore) return [];
  const sentence = `At ${percent(renamed)} of the places with another document, one new id stands for one old id.`;
  if (renamed >= RENAMED) return [sign('renamed', 'one_to_one', sentence)];
  return renamed < NOT_RENAMED ? [sign('renamed', 'not', sentence)] : [];
}

/** A mean loss of a query that is worth looking at by segment. */
const LOST = 0.02;
/** A segment is alone with a loss when the others lost less than this share of what it lost. */
const ALONE = 0.1;
/** Chance from which on a segment that was chosen among several may be hurt by chance alone. */
const BY_CHANCE = 0.05;

function readSegment({ before, now, segment }: ScoreLoss): Sign[] {
  if (segment === null || before - now < LOST) return [];
  const { name, n, inside, outside, searched, chance } = segment;
  const isAlone = outside <= ALONE * inside && outside < 2 * LOST;
  if (isAlone && chance > BY_CHANCE) return [];
  const sentence = `A query of ${name} lost ${inside.toFixed(3)} (${n} queries), one of the others ${outside.toFixed(3)} (${searched} segments compared).`;
  return [sign('segment', isAlone ? 'one' : 'spread', sentence)];
}

function readStages(loss: StageLoss): Sign[] {
  const { n, k, found } = loss;
  const fault = stageAtFault(loss);
  if (fault === null) return [];
  const answers = `the first ${k} hold ${percent(found.now)}, ${percent(found.before)} before (${n} questions)`;
  if (fault.kind === 'steady')
    return [sign('stage', 'steady', `No stage loses more relevant documents than it did: ${answers}.`)];
  const { name, before, now, ciLow, ciHigh } = fault.step;
  const stage = name === ANSWER ? 'the order and cut-off of the answer, no earlier stage' : `the stage ${name}`;
  const lost = `${percent(now)} of the relevant documents, ${percent(before)} before (95 % ${signed(ciLow, 3)} to ${signed(ciHigh, 3)})`;
  return [sign('stage', fault.kind, `Most is lost by ${stage}: ${lost}; ${answers}.`)];
}

const MIN_CHANGED = 6;
const MOST = 0.75;

function readAgain({ changed, inOne, alike, unlike }: RepeatedAnswers): Sign[] {
  if (changed < MIN_CHANGED) return [];
  const sentence = `Of ${changed} queries that changed in the last two bad runs, ${alike} got the same answer twice, ${inOne} the old one once, ${unlike} two new ones.`;
  if (alike >= MOST * changed) return [sign('again', 'repeats', sentence)];
  if (unlike >= MOST * changed) return [sign('again', 'differs', sentence)];
  return inOne >= changed / 4 && unlike <= changed / 5 ? [sign('again', 'alternates', sentence)] : [];
}

/** Answers that are those of long ago are so for most queries, and for far more than those of the last good run. */
const ALIKE = 0.8;
const FAR_MORE = 0.3;
/** A run that is less like the last good one is of another index. */
const OF_ANOTHER = 0.7;

function readOlder({ at, withNow, withReference, referenceWithNow }: OlderAnswers): Sign[] {
  const sentence = `${percent(withNow)} of the answers are those of the run of ${minute(at)}, ${percent(referenceWithNow)} those of the last good run.`;
  if (withNow >= ALIKE && withNow - referenceWithNow >= FAR_MORE) return [sign('older_answers', 'alike', sentence)];
  // Runs that all answered alike do not tell old from new.
  return withReference < OF_ANOTHER && referenceWithNow < ALIKE ? [sign('older_answers', 'unlike', sentence)] : [];
}

function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16)}Z`;
}
