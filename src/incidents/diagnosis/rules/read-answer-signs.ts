/** Reads the signs from the comparison of a golden run's results with those of the last good run. */
import { count, decimal, percentage, signed } from '../../../core/format.ts';
import { metricName } from '../../../math/ir/metric-key.ts';
import type { ChangedAnswers } from './changed-answers.ts';
import type { ObservedReference } from './observations.ts';
import { type Sign, sign } from './signs.ts';

/** Minimum number of queries. A mean over fewer queries is too imprecise. */
const MIN_ANSWERS = 5;

/** @param usual share of results that stay the same between runs without a fault, 0 to 1 */
export function readAnswers(answers: ChangedAnswers, texts: ObservedReference['texts'], usual: number): Sign[] {
  if (answers.answered < MIN_ANSWERS) return [];
  // If nearly all result lists are empty, only their emptiness and the score are evidence.
  if (answers.empty >= NEARLY_ALL_EMPTY * answers.answered) return [...readEmptiness(answers), ...readScore(answers)];
  return [
    ...readEmptiness(answers),
    ...readScore(answers),
    ...readLength(answers),
    ...readResults(answers),
    ...readReplaced(answers),
    ...readRetrievalScores(answers),
    ...readCalls(answers),
    ...readSurvivingDocuments(answers),
    ...readRarer(answers),
    ...readDropped(answers),
    ...readOrder(answers, usual),
    ...readDocuments(answers),
    ...readRenamed(answers),
    ...readForeign(answers),
    ...readNewcomer(answers),
    ...readRepeats(answers, texts),
    ...(texts === null ? [] : readTextLength(answers, texts)),
    ...(texts?.same == null ? [] : readSameTexts(texts.same)),
  ];
}

const EMPTIER = 0.02;
const MOSTLY_EMPTY = 0.5;
const NEARLY_ALL_EMPTY = 0.9;

function readEmptiness({ answered, emptyBefore, empty }: ChangedAnswers): Sign[] {
  const rose = (empty - emptyBefore) / answered >= EMPTIER;
  const sentence = `${empty} of ${answered} queries got an empty result list; previously, ${emptyBefore} did.`;
  const extent = empty / answered >= MOSTLY_EMPTY ? 'most' : 'some';
  const values = { before: emptyBefore / answered, now: empty / answered, unit: 'share' } as const;
  return [sign('empty_answers', rose ? extent : 'as_before', sentence, values)];
}

function readScore({ score }: ChangedAnswers): Sign[] {
  if (score === null || score.n < MIN_ANSWERS) return [];
  const { measure, difference, ciLow, ciHigh, n, verdict } = score;
  const name = metricName(measure);
  const numbers = `difference ${signed(difference)} (95 % CI ${signed(ciLow)} to ${signed(ciHigh)}), ${n} queries`;
  const [state, said] =
    verdict === 'regression'
      ? (['fell', 'dropped'] as const)
      : verdict === 'inconclusive'
        ? (['unsure', 'may have dropped'] as const)
        : (['steady', 'is unchanged'] as const);
  return [sign('score', state, `${name} of successful queries with valid judgments ${said}: ${numbers}.`)];
}

/** Result lists count as shorter if they have less than three quarters of their earlier length. */
const SHORTER = 0.75;
const MOSTLY_CUT = 0.6;

function readLength({ length, cut }: ChangedAnswers): Sign[] {
  if (length === null) return [];
  const { before, now } = length;
  const values = { before, now, unit: 'other' } as const;
  const numbers = `Result lists have ${decimal(now)} documents on average (previously ${decimal(before)})`;
  if (now > SHORTER * before || cut === null) return [sign('answer_length', 'as_before', `${numbers}.`, values)];
  const sentence = `${numbers}; ${percentage(cut)} of the shorter lists kept their first documents.`;
  return [sign('answer_length', cut >= MOSTLY_CUT ? 'cut' : 'thinned', sentence, values)];
}

const INTACT = 0.95;
const SCRAMBLED = 0.15;

function readResults({ kept, answered }: ChangedAnswers): Sign[] {
  if (kept === null) return [];
  const state = kept >= INTACT ? 'intact' : kept < SCRAMBLED ? 'scrambled' : 'disturbed';
  const sentence = `On average, ${percentage(kept)} of a query's earlier documents are still returned (${answered} queries).`;
  return [sign('results', state, sentence)];
}

const MIN_CHANGED = 5;
const MOST_REPLACED = 0.7;
const FEW_REPLACED = 0.2;
const MOST_PUSHED = 0.6;

/**
 * A fault in queries or responses replaces whole result lists; a fault in documents or ranks replaces some results. If
 * the earlier documents keep their order below other documents, the others were placed first.
 */
function readReplaced({ replaced: { changed, wholly, pushed } }: ChangedAnswers): Sign[] {
  if (changed < MIN_CHANGED) return [];
  if (pushed >= MOST_PUSHED * changed) {
    const below = `In ${pushed} of the ${changed} result lists that changed, the earlier documents kept their order, but other documents were placed above them.`;
    return [sign('changed_lists', 'pushed_down', below)];
  }
  const sentence = `${wholly} of the ${changed} result lists that changed lost nearly all of their earlier documents.`;
  if (wholly >= MOST_REPLACED * changed) return [sign('changed_lists', 'whole', sentence)];
  return wholly <= FEW_REPLACED * changed ? [sign('changed_lists', 'in_part', sentence)] : [];
}

const FEW_RESCORED = 0.05;
const MOST_RESCORED = 0.9;
const HALF_RESCORED = 0.5;
/**
 * Score changes are attributed to the documents if the agreement of the documents beyond chance is at least `TOGETHER`,
 * and exceeds the agreement of the queries by at least `APART`. Score changes are attributed to the queries if the
 * agreement of the queries exceeds that of the documents in the same way.
 */
const TOGETHER = 0.6;
const APART = 0.2;

/**
 * If a retriever finds fewer documents but ranks them as before, the scores of the documents that it still finds do not
 * change.
 */
function readRetrievalScores({ retrievalScores }: ChangedAnswers): Sign[] {
  if (retrievalScores === null) return [];
  const { results, changed, byQuery, byDocument } = retrievalScores;
  const found = `The retriever's score changed for ${percentage(changed)} of ${results} documents that are still returned for a query`;
  if (changed <= FEW_RESCORED) return [sign('retrieval_scores', 'as_before', `${found}.`)];
  if (changed >= MOST_RESCORED) return [sign('retrieval_scores', 'most', `${found}.`)];
  const [query, document] = [byQuery ?? 0, byDocument ?? 0];
  if (document >= TOGETHER && document >= query + APART)
    return [sign('retrieval_scores', 'of_documents', `${found}: for certain documents, whatever the query is.`)];
  if (query >= TOGETHER && query >= document + APART)
    return [sign('retrieval_scores', 'of_queries', `${found}: for certain queries, whatever the document is.`)];
  return changed >= HALF_RESCORED ? [sign('retrieval_scores', 'most', `${found}.`)] : [];
}

/** Minimum probability that the latency of a call with changed results grew more, or less, than that of other calls. */
const APART_IN_TIME = 0.8;
/** The calls are alike if this probability differs from 0.5 by at most this much. */
const ALIKE_IN_TIME = 0.15;
/** Minimum distance from 0.5 in standard errors; the probability of a larger distance by chance is 0.1 %. */
const BEYOND_CHANCE = 3.3;

/** A retriever that skips part of its search after a time limit returns different results only in slow calls. */
function readCalls({ calls }: ChangedAnswers): Sign[] {
  if (calls === null) return [];
  const { changed, unchanged, slower, z } = calls;
  const sentence = `Calls with changed results (n = ${changed}) slowed down more than other calls (n = ${unchanged}) in ${percentage(slower)} of all pairs; 50 % are expected by chance.`;
  if (slower >= APART_IN_TIME && z >= BEYOND_CHANCE) return [sign('changed_calls', 'slower', sentence)];
  if (slower <= 1 - APART_IN_TIME && z <= -BEYOND_CHANCE) return [sign('changed_calls', 'faster', sentence)];
  return Math.abs(slower - 0.5) <= ALIKE_IN_TIME ? [sign('changed_calls', 'alike', sentence)] : [];
}

const STAY = 0.93;
const MOVE = 0.85;

/**
 * Checks whether the surviving documents are still returned for the same queries. If the only fault is that other
 * documents were deleted, the surviving documents are still returned for the same queries.
 */
function readSurvivingDocuments({ kept, keptOfThere }: ChangedAnswers): Sign[] {
  if (kept === null || keptOfThere === null || kept >= INTACT) return [];
  const sentence = `Apart from documents that are no longer returned for any query, ${percentage(keptOfThere)} of a query's earlier documents are still returned.`;
  if (keptOfThere >= STAY) return [sign('surviving_documents', 'stay', sentence)];
  return keptOfThere < MOVE ? [sign('surviving_documents', 'move', sentence)] : [];
}

/** Minimum share of reversed pairs; if the order is random, half of the pairs are reversed. */
const DISORDERED = 0.15;
/**
 * The order also counts as changed if the earlier top document moved down in at least this share of result lists,
 * because the share of reversed pairs may still be small.
 */
const FIRST_MOVED = 0.5;
/**
 * The order also counts as changed if at least this share of the result lists lost their top document, and if this
 * share is large enough compared with other losses (`TIMES_OTHERS`).
 */
const FIRST_GONE = 0.2;
/**
 * `FIRST_GONE` applies only if the share of lists that lost their top document is at least this many times the mean
 * share of documents that a list lost.
 */
const TIMES_OTHERS = 3;
/** Minimum share of earlier documents that are still returned; the order of fewer documents is not meaningful. */
const ENOUGH_KEPT = 0.4;

function readOrder({ disorder, firstMoved, firstGone, kept }: ChangedAnswers, usual: number): Sign[] {
  if (disorder === null || kept === null || kept < ENOUGH_KEPT) return [];
  const isFirstMoved = firstMoved !== null && firstMoved >= FIRST_MOVED + (1 - usual) / 2;
  const isFirstGone = firstGone !== null && firstGone >= FIRST_GONE && firstGone >= TIMES_OTHERS * (1 - kept);
  const isChanged = isFirstMoved || isFirstGone || disorder >= DISORDERED + (1 - usual) / 4;
  const first = isFirstMoved
    ? ` In ${percentage(firstMoved)} of the result lists, the earlier top document moved down.`
    : isFirstGone
      ? ` ${percentage(firstGone)} of the result lists no longer contain their earlier top document.`
      : '';
  const sentence = `Among the documents that are still returned for a query, ${percentage(disorder)} of the pairs are in reversed order.${first}`;
  return [sign('order', isChanged ? 'changed' : 'as_before', sentence)];
}

/** The sign exists only if at least this many documents are returned for at most half as many queries as before. */
const MIN_RARER = 5;
const MOST_GONE = 0.8;
const FEW_GONE = 0.5;

/** A filter or a loss removes a document from all lists; a lower rank removes it from some. */
function readRarer({ rarer: { documents, gone } }: ChangedAnswers): Sign[] {
  if (documents < MIN_RARER) return [];
  const sentence = `${documents} documents are returned for at most half as many queries as before; ${gone} of them are no longer returned for any query.`;
  if (gone >= MOST_GONE * documents) return [sign('rarer_documents', 'gone', sentence)];
  return gone <= FEW_GONE * documents ? [sign('rarer_documents', 'fewer', sentence)] : [];
}

const MIN_DROPPED = 10;
const FROM_ALL = 0.9;
const FROM_SOME = 0.7;

/** A second index lacks the same documents for every query. */
function readDropped({ dropped: { lost, gone } }: ChangedAnswers): Sign[] {
  if (lost < MIN_DROPPED) return [];
  const sentence = `In ${lost} cases, a changed result list lost a document that it had shared with another changed list; in ${gone} of these cases, no changed list still contains the document.`;
  if (gone >= FROM_ALL * lost) return [sign('dropped_documents', 'from_all', sentence)];
  return gone <= FROM_SOME * lost ? [sign('dropped_documents', 'from_some', sentence)] : [];
}

const SOME_DOCUMENTS = 0.05;
/** Documents count as replaced if at least this many new documents appeared per vanished document. */
const REPLACED = 0.5;
const COLLAPSED = 0.2;

function readDocuments({ documentsBefore, vanished, appeared, answered, empty }: ChangedAnswers): Sign[] {
  if (documentsBefore === 0) return [];
  const share = vanished / documentsBefore;
  const sentence = `${vanished} of the ${documentsBefore} previously retrieved documents are no longer retrieved; ${appeared} documents are newly retrieved.`;
  const state = share < SOME_DOCUMENTS ? 'same' : appeared >= REPLACED * vanished ? 'replaced' : 'vanished';
  const now = documentsBefore - vanished + appeared;
  const isCollapsed = now <= COLLAPSED * documentsBefore && empty < answered / 2;
  const variety = `All result lists together contain ${now} distinct documents; previously, they contained ${documentsBefore}.`;
  const values = { before: documentsBefore, now, unit: 'count' } as const;
  return [
    sign('documents', state, sentence),
    sign('variety', isCollapsed ? 'collapsed' : 'as_before', variety, values),
  ];
}

const RENAMED = 0.7;
const NOT_RENAMED = 0.4;

function readRenamed({ renamed, vanished, documentsBefore }: ChangedAnswers): Sign[] {
  // Documents that still exist were not renamed.
  if (renamed === null || vanished < SOME_DOCUMENTS * documentsBefore) return [];
  const sentence = `At ${percentage(renamed)} of the changed ranks, the new id is the usual replacement for the old id.`;
  if (renamed >= RENAMED) return [sign('renamed', 'one_to_one', sentence)];
  return renamed < NOT_RENAMED ? [sign('renamed', 'not', sentence)] : [];
}

/**
 * Minimum number of lists that match another query's earlier list. Fewer matches, or fewer than twice the usual number,
 * may be due to chance.
 */
const MIN_FOREIGN = 5;
const FOREIGN_SHARE = 0.04;

function readForeign({ foreign: { compared, foreign, usual } }: ChangedAnswers): Sign[] {
  if (compared < MIN_ANSWERS) return [];
  const sentence = `${foreign} of ${compared} queries got a result list that previously belonged to another query.`;
  if (foreign >= Math.max(MIN_FOREIGN, FOREIGN_SHARE * compared, 2 * usual))
    return [sign('foreign_lists', 'some', sentence)];
  return foreign <= Math.max(1, usual) ? [sign('foreign_lists', 'none', sentence)] : [];
}

/** Minimum number of queries whose results newly contain the same document; a smaller number may be due to chance. */
const MIN_COMMON = 5;
const COMMON_SHARE = 0.12;
/**
 * Returns the maximum number of queries for which the same document may be new by chance, given the usual number of
 * such queries (`usual` in `commonNewcomer`).
 */
const largestByChance = (mean: number): number => 4 * mean + 3;

function readNewcomer({ newcomer: { queries, usual }, answered }: ChangedAnswers): Sign[] {
  const sentence = `The same document is new in the results of ${queries} of ${answered} queries.`;
  const isCommon = queries >= Math.max(MIN_COMMON, COMMON_SHARE * answered, largestByChance(usual));
  return [sign('common_document', isCommon ? 'rose' : 'as_before', sentence)];
}

const MORE_REPEATED = 0.1;
const HARDLY_MORE = 0.02;

/** Reads the repeated ids or the repeated text, whichever share rose more. */
function readRepeats({ repeated }: ChangedAnswers, texts: ObservedReference['texts']): Sign[] {
  const ofTexts = texts === null ? null : { before: texts.before.repeated, now: texts.now.repeated };
  const isText = ofTexts !== null && ofTexts.now - ofTexts.before > repeated.now - repeated.before;
  const { before, now } = isText ? ofTexts : repeated;
  const what = isText ? 'of the text in a result list' : 'of the results in a list';
  const sentence = `${percentage(now)} ${what} ${isText ? 'repeats earlier text' : 'repeat earlier results'} in the same list; previously, ${percentage(before)} did.`;
  const values = { before, now, unit: 'share' } as const;
  if (now - before >= MORE_REPEATED) return [sign('repeats', 'rose', sentence, values)];
  return now - before <= HARDLY_MORE ? [sign('repeats', 'as_before', sentence, values)] : [];
}

const SHORTER_TEXT = 0.8;
const LONGER_TEXT = 1.25;

function readTextLength({ length }: ChangedAnswers, { before, now }: NonNullable<ObservedReference['texts']>): Sign[] {
  if (length === null || length.before === 0 || length.now === 0 || before.characters === 0) return [];
  return [textLength(before.characters / length.before, now.characters / length.now)];
}

/** Minimum ratio of text lengths, later to earlier, at which the texts of the same documents count as unchanged. */
const SAME_LENGTH = 0.98;
const SHORTER_SAME = 0.95;

function readSameTexts({ before, now }: NonNullable<NonNullable<ObservedReference['texts']>['same']>): Sign[] {
  if (before.characters === 0) return [];
  const sentence = `For queries that still get the same documents, the results have ${count(now.characters)} characters of text on average; previously, they had ${count(before.characters)}.`;
  const values = { before: before.characters, now: now.characters, unit: 'other' } as const;
  const ratio = now.characters / before.characters;
  if (ratio <= SHORTER_SAME) return [sign('same_texts', 'fell', sentence, values)];
  return ratio >= SAME_LENGTH ? [sign('same_texts', 'as_before', sentence, values)] : [];
}

/** Returns the sign for the mean number of characters per result. */
export function textLength(before: number, now: number): Sign {
  const state = now <= SHORTER_TEXT * before ? 'fell' : now >= LONGER_TEXT * before ? 'rose' : 'as_before';
  const sentence = `A result has ${count(now)} characters of text on average; previously, it had ${count(before)}.`;
  return sign('text_length', state, sentence, { before, now, unit: 'other' });
}
