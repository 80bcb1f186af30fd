/** Signs: of a golden run and live queries, and of the parts of a pipeline beside them. */

import type { Deployment } from '../../deployments/rules/deployment.ts';
import { percent, signed } from '../../text/spelling.ts';
import type { ChangedAnswers } from './changed-answers.ts';
import type {
  Observations,
  ObservedCanary,
  ObservedDensity,
  ObservedLabels,
  ObservedLive,
  ObservedRecall,
  ObservedRun,
  ObservedTopic,
  OwnWork,
} from './observations.ts';
import type { Sign } from './weights.ts';

/** A store whose count moves by less is as it was. */
const SIZE_CHANGED = 0.02;
const RECALL_FELL = 0.02;
/** As the alert RecalldIndexRecallLow has it. */
const MIN_RECALL = 0.9;
/** Traits that follow from how much a store holds, not from how it is set. */
const sizeTraits: ReadonlySet<string> = new Set(['size_class']);
/** What another embedding model changes about a store. */
const vectorTraits: ReadonlySet<string> = new Set(['dimensions']);

export function readPartSigns(observed: Omit<Observations, 'run' | 'live'>): Sign[] {
  const { store, annRecall, canary, deployments, density, topics, sentinel, ownWork } = observed;
  return [
    ...readStore(store),
    ...(annRecall === null ? [] : [readRecall(annRecall)]),
    ...(canary === null ? [] : [readCanary(canary)]),
    ...readDetected(deployments),
    readAnnotated(deployments),
    ...(density === null ? [] : [readDensity(density)]),
    // A topic is no alarm by itself: some are small, or there by chance.
    ...(topics === null || density?.hasFallen !== true ? [] : [readTopics(topics)]),
    ...(sentinel === null ? [] : [readSentinel(sentinel.hasFallen)]),
    ...(ownWork === null ? [] : [readOwnWork(ownWork)]),
  ];
}

function readStore(store: Observations['store']): Sign[] {
  if (store === null) return [];
  const { before, now } = store;
  if (now === 0) return [sign('store_size', 'emptied', 'The store holds no vector.')];
  if (before === null || before === 0) return [];
  const change = now / before - 1;
  const sentence = `The store holds ${now} vectors, ${before} before (${change < 0 ? '' : '+'}${percent(change)}).`;
  if (Math.abs(change) < SIZE_CHANGED) return [sign('store_size', 'steady', sentence)];
  return [sign('store_size', change < 0 ? 'fell' : 'grew', sentence)];
}

function readRecall({ before, value, ciHigh, k }: ObservedRecall): Sign {
  // An index that always was as coarse as it is broke nothing.
  const fell = before === null ? ciHigh < MIN_RECALL : ciHigh < before - RECALL_FELL;
  const was = before === null ? '' : `, ${percent(before)} before`;
  const sentence = `The index returns ${percent(value)} of the ${k} exact nearest neighbours (at most ${percent(ciHigh)})${was}.`;
  return sign('ann_recall', fell ? 'fell' : 'steady', sentence);
}

function readCanary({ median, least, verdict }: ObservedCanary): Sign {
  const numbers = `cosine ${median.toFixed(3)} in the middle, ${least.toFixed(3)} at the least`;
  return verdict === 'changed'
    ? sign('canary', 'changed', `Fixed texts have other vectors than at first: ${numbers}.`)
    : sign('canary', 'same', `Fixed texts have the same vectors as at first: ${numbers}.`);
}

/** What probes saw to have changed. */
function readDetected(deployments: readonly Deployment[]): Sign[] {
  const detected = deployments.filter(({ source }) => source === 'detected');
  const index = detected.filter(({ kind }) => kind === 'index').flatMap(({ changes }) => changes);
  const settings = index.filter(({ trait }) => !sizeTraits.has(trait) && !vectorTraits.has(trait));
  // That the canary moved, or moved back, is a sign of its own.
  const embedder = detected.find(
    ({ kind, changes }) => kind === 'embedder' && changes.some(({ trait }) => trait !== 'canary'),
  );
  const isOtherVector = index.some(({ trait }) => vectorTraits.has(trait));
  return [
    ...(settings.length === 0
      ? []
      : [
          sign(
            'index_settings',
            'changed',
            `The index changed: ${settings.map(({ trait, before, after }) => `${trait} from ${before ?? 'none'} to ${after ?? 'none'}`).join(', ')}.`,
          ),
        ]),
    ...(embedder === undefined && !isOtherVector
      ? []
      : [
          sign(
            'embedder',
            'changed',
            embedder === undefined
              ? 'The vectors of the store have another dimension.'
              : `The embedder changed at ${minute(embedder.occurredAt)}.`,
          ),
        ]),
  ];
}

/** What somebody said to have changed; of several the last. */
function readAnnotated(deployments: readonly Deployment[]): Sign {
  const annotated = deployments.filter(({ source }) => source === 'annotated');
  const latest = annotated.find(({ kind }) => kind !== 'golden') ?? annotated[0];
  if (latest === undefined) return sign('deployment', 'none', 'No deployment was annotated since the last good run.');
  const more = annotated.length === 1 ? '' : `, the last of ${annotated.length}`;
  const sentence = `${latest.kind} ${latest.version} was deployed at ${minute(latest.occurredAt)}${more}.`;
  return sign('deployment', latest.kind, sentence);
}

function readDensity({ value, ciLow, ciHigh, hasFallen, questions }: ObservedDensity): Sign {
  const numbers = `${value.toFixed(2)} (95 % ${ciLow.toFixed(2)} to ${ciHigh.toFixed(2)}), where 1 is as in the baseline`;
  if (!hasFallen) return sign('density', 'steady', `Query density stands at ${numbers}.`);
  if (questions === null) return sign('density', 'fell', `Query density fell to ${numbers}.`);
  const state = `fell_${questions}_questions` as const;
  const asked = questions === 'new' ? 'the questions are new' : 'the questions are the old ones';
  return sign('density', state, `Query density fell to ${numbers}; ${asked}.`);
}

function readTopics(topics: readonly ObservedTopic[]): Sign {
  const fresh = topics.filter(({ cause }) => cause === 'new_demand');
  const lost = topics.filter(({ cause }) => cause === 'lost_content');
  if (fresh.length > 0)
    return sign('topics', 'new_demand', `Nobody asked about these uncovered topics before: ${namesOf(fresh)}.`);
  if (lost.length > 0)
    return sign('topics', 'lost_content', `These uncovered topics were covered before: ${namesOf(lost)}.`);
  return sign('topics', 'none', 'No uncovered topic is open.');
}

function namesOf(topics: readonly ObservedTopic[]): string {
  return topics
    .slice(0, 3)
    .map(({ id, trafficShare }) => `${id} (${percent(trafficShare)} of traffic)`)
    .join(', ');
}

function readSentinel(hasFallen: boolean): Sign {
  return hasFallen
    ? sign('sentinel', 'fallen', 'The latest sentinel fell.')
    : sign('sentinel', 'stands', 'The latest sentinel stands.');
}

function readOwnWork(work: OwnWork): Sign {
  switch (work.kind) {
    case 'done':
      return sign('own_work', 'done', 'Runs start on time and come to their end.');
    case 'overdue':
      return sign(
        'own_work',
        'overdue',
        `No run of ${work.goldenSet} was started for ${work.intervals.toFixed(1)} intervals of its schedule.`,
      );
    case 'failed':
      return sign('own_work', 'failed', `A run of ${work.goldenSet} did not come to its end: ${work.reason}`);
  }
}

function minute(at: Date): string {
  return `${at.toISOString().slice(0, 16)}Z`;
}

const SOME_FAILURES = 0.05;
const MOSTLY_FAILING = 0.5;
/** p95 must at least double, and by more than a busy machine explains. */
const SLOWER = 2;
const SLOWER_MS = 50;
/** Means over fewer queries say nothing. */
const MIN_ANSWERS = 5;
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
    ...(answers === null || answers.answered < MIN_ANSWERS ? [] : readAnswers(answers)),
  ];
}

function readFailures({ outcomes, commonError }: ObservedRun): Sign[] {
  const { ok, empty, error, timeout } = outcomes;
  const total = ok + empty + error + timeout;
  if (total === 0) return [];
  const share = (error + timeout) / total;
  if (share < SOME_FAILURES)
    return [sign('failures', 'none', `${total - error - timeout} of ${total} golden queries were answered.`)];
  const extent = share < MOSTLY_FAILING ? 'some' : 'most';
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
  if (ciLow >= MOSTLY_FAILING) return [sign('failures', 'most_errors', sentence)];
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
  if (reference.isSameVersion) return [sign('golden_set', 'same', `${goldenSet} is of the same version as before.`)];
  const sentence = `${goldenSet} has another version than before, which was ${reference.version}.`;
  return [sign('golden_set', 'new_version', sentence)];
}

function readAnswers(answers: ChangedAnswers): Sign[] {
  return [...readScore(answers), ...readResults(answers), ...readDocuments(answers), ...readEmptiness(answers)];
}

function readScore({ score }: ChangedAnswers): Sign[] {
  if (score === null || score.n < MIN_ANSWERS || score.verdict === 'inconclusive') return [];
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
