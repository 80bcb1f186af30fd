/** The signs of a golden run: its failures, its answers against those before, its labels. */
import { percent, signed } from '../../text/number-text.ts';
import type { ChangedAnswers } from './changed-answers.ts';
import type { ObservedLabels, ObservedLive, ObservedRun } from './observations.ts';
import type { Sign } from './signs.ts';

const SOME_FAILURES = 0.05;
const MOST_FAILURES = 0.5;
/** p95 must at least double, and by more than a busy machine explains. */
const SLOWER = 2;
const SLOWER_MS = 50;
/** Means over fewer queries say nothing. */
const FEWEST_ANSWERS = 5;
const INTACT = 0.95;
const SCRAMBLED = 0.25;
const SOME_DOCUMENTS = 0.05;
/** Share of the vanished documents that have a successor when documents were replaced. */
const REPLACED = 0.5;
const MANY_GONE = 0.2;
const SOME_GONE = 0.005;
const EMPTIER = 0.02;

/** @param live stands in for the failures of a run where there is none */
export function readRunSigns(run: ObservedRun | null, live: ObservedLive | null): Sign[] {
  if (run === null) return live === null ? [] : readLive(live);
  const answers = run.reference?.answers ?? null;
  return [
    ...readFailures(run),
    ...readLatency(run),
    ...readLabels(run.labels, run.reference?.staleBefore ?? null),
    ...readVersion(run),
    ...(answers === null || answers.answered < FEWEST_ANSWERS ? [] : readAnswers(answers)),
  ];
}

function readFailures({ outcomes, commonError }: ObservedRun): Sign[] {
  const { ok, empty, error, timeout } = outcomes;
  const total = ok + empty + error + timeout;
  if (total === 0) return [];
  const share = (error + timeout) / total;
  if (share < SOME_FAILURES)
    return [sign('failures', 'none', `${total - error - timeout} of ${total} golden queries were answered.`)];
  const extent = share < MOST_FAILURES ? 'some' : 'most';
  if (timeout > error) {
    const sentence = `${timeout} of ${total} golden queries timed out${error === 0 ? '' : `, ${error} failed`}.`;
    return [sign('failures', `${extent}_timeouts`, sentence)];
  }
  const code = commonError === null ? '' : `, most of them with ${commonError}`;
  const sentence = `${error + timeout} of ${total} golden queries failed${code}.`;
  return [sign('failures', `${extent}_errors`, sentence)];
}

function readLive({ errorRatio, ciLow, n }: ObservedLive): Sign[] {
  const sentence = `${percent(errorRatio)} of live queries failed (${n} sampled).`;
  if (ciLow >= MOST_FAILURES) return [sign('failures', 'most_errors', sentence)];
  if (ciLow >= SOME_FAILURES) return [sign('failures', 'some_errors', sentence)];
  return errorRatio < SOME_FAILURES ? [sign('failures', 'none', sentence)] : [];
}

function readLatency({ latency95Ms: now, reference }: ObservedRun): Sign[] {
  const before = reference?.latency95Ms ?? null;
  if (now === null || before === null) return [];
  const rose = now >= SLOWER * before && now - before >= SLOWER_MS;
  const sentence = `Answers took ${Math.round(now)} ms (95th percentile), ${Math.round(before)} ms before.`;
  return [sign('latency', rose ? 'rose' : 'steady', sentence)];
}

function readLabels(labels: ObservedLabels | null, staleBefore: number | null): Sign[] {
  if (labels === null || labels.probed === 0) return [];
  const { probed, stale } = labels;
  const ratio = stale / probed;
  const before = staleBefore === null ? '' : `, ${staleBefore} before`;
  const sentence = `${stale} of ${probed} judged documents (${percent(ratio)}) are gone from the store${before}.`;
  // What was gone before already is no news.
  const news = Math.max(0, stale - (staleBefore ?? 0)) / probed;
  if (news >= MANY_GONE) return [sign('labels', 'many_gone', sentence)];
  return [sign('labels', news > SOME_GONE ? 'some_gone' : 'alive', sentence)];
}

function readVersion({ goldenSet, reference }: ObservedRun): Sign[] {
  if (reference === null) return [];
  if (reference.isSameVersion)
    return [sign('golden_set', 'same', `${goldenSet} is of the same version as before.`)];
  const sentence = `${goldenSet} has another version than before, which was ${reference.version}.`;
  return [sign('golden_set', 'new_version', sentence)];
}

function readAnswers(answers: ChangedAnswers): Sign[] {
  return [
    ...readScore(answers),
    ...readResults(answers),
    ...readDocuments(answers),
    ...readEmptiness(answers),
  ];
}

function readScore({ score }: ChangedAnswers): Sign[] {
  if (score === null || score.n < FEWEST_ANSWERS || score.verdict === 'inconclusive') return [];
  const { measure, difference, ciLow, ciHigh, n } = score;
  const numbers = `${signed(difference, 3)} (95 % ${signed(ciLow, 3)} to ${signed(ciHigh, 3)}) over ${n} queries`;
  if (score.verdict === 'regression')
    return [sign('score', 'fell', `${measure} of answered queries with live labels fell: ${numbers}.`)];
  return [sign('score', 'steady', `${measure} of answered queries with live labels stands: ${numbers}.`)];
}

function readResults({ kept, answered }: ChangedAnswers): Sign[] {
  if (kept === null) return [];
  const state = kept >= INTACT ? 'intact' : kept < SCRAMBLED ? 'scrambled' : 'disturbed';
  const sentence = `Queries still get ${percent(kept)} of the documents that they got before (${answered} queries).`;
  return [sign('results', state, sentence)];
}

function readDocuments({ documentsBefore, vanished, appeared }: ChangedAnswers): Sign[] {
  if (documentsBefore === 0) return [];
  const share = vanished / documentsBefore;
  const sentence = `Of ${documentsBefore} documents that were retrieved before, ${vanished} no longer are, and ${appeared} are new.`;
  if (share < SOME_DOCUMENTS) return [sign('documents', 'same', sentence)];
  return [sign('documents', appeared >= REPLACED * vanished ? 'replaced' : 'vanished', sentence)];
}

function readEmptiness({ answered, emptyBefore, empty }: ChangedAnswers): Sign[] {
  const rose = (empty - emptyBefore) / answered >= EMPTIER;
  const sentence = `${empty} of ${answered} answers are empty, ${emptyBefore} before.`;
  return [sign('empty_answers', rose ? 'rose' : 'as_before', sentence)];
}

/** Ties the state to the name. */
export function sign<Name extends Sign['name']>(
  name: Name,
  state: Extract<Sign, { readonly name: Name }>['state'],
  sentence: string,
): Sign {
  return { name, state, sentence } as Sign;
}
