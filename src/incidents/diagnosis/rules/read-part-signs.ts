/** Reads the signs from the components of a pipeline, from recent changes, and from recalld itself. */

import { decimal, formatValue, minute, percentage, plural } from '../../../core/format.ts';
import {
  type ArrivalLag,
  describeFinding,
  describeLag,
  describeNew,
  type FindingKind,
  isLate,
  isMostlyNew,
  isWrong,
  type WrongShare,
} from '../../../index/truth/rules/findings.ts';
import type { Deployment } from '../../../live/deployments/rules/deployment.ts';
import type {
  Observations,
  ObservedAgreement,
  ObservedCanary,
  ObservedDensity,
  ObservedRecall,
  ObservedTexts,
  ObservedTopic,
  OwnWork,
} from './observations.ts';
import type { ObservedShare } from './observed-live.ts';
import { describeDelays } from './own-delays.ts';
import type { WordEffects } from './removed-words.ts';
import { type Sign, sign } from './signs.ts';

/** Minimum relative change in the number of stored vectors. */
const SIZE_CHANGED = 0.02;
/**
 * Minimum relative loss of vectors. A smaller loss may come from a few corrected documents; a larger loss may be the
 * start of a continuing loss.
 */
const SIZE_SHRANK = 0.005;
const RECALL_FELL = 0.02;
/** Same threshold as the alert RecalldIndexRecallLow. */
const MIN_RECALL = 0.9;
/** Traits that depend on the size of the store, not on its settings. */
const sizeTraits: ReadonlySet<string> = new Set(['size_class']);
/** Store traits that change with the embedding model. */
const vectorTraits: ReadonlySet<string> = new Set(['dimensions']);

export function readPartSigns(observed: Observations): Sign[] {
  const {
    store,
    annRecall,
    storeAgreement,
    missedVectors,
    missedTexts,
    returnedAbsent,
    canary,
    arrivals,
    deployments,
  } = observed;
  const { density, topics, sentinel, ownWork } = observed;
  return [
    ...readStore(store),
    ...(annRecall === null ? [] : [readRecall(annRecall)]),
    ...(storeAgreement === null ? [] : readAgreement(storeAgreement)),
    ...(missedVectors === null ? [] : readMissedVectors(missedVectors)),
    ...(missedTexts === null ? [] : readMissedTexts(missedTexts)),
    ...(returnedAbsent === null ? [] : readReturned(returnedAbsent)),
    ...(observed.wordEffects === null ? [] : readWords(observed.wordEffects)),
    ...(canary === null ? [] : [readCanary(canary)]),
    ...readIndex(observed.index),
    ...readArrivals(arrivals, observed.index),
    ...readDetected(deployments),
    readAnnotated(deployments),
    ...(density === null ? [] : [readDensity(density)]),
    // An uncovered topic is a sign only together with a drop in density, because an uncovered topic by itself may be
    // small or due to chance.
    ...(topics === null || density?.hasFallen !== true ? [] : [readTopics(topics)]),
    ...(sentinel === null ? [] : [readSentinel(sentinel.hasFallen)]),
    ...(ownWork === null ? [] : [readOwnWork(ownWork)]),
  ];
}

/** Minimum number of queries with changed results; an effect on fewer queries may be chance. */
const MIN_CHANGED = 4;
/**
 * Minimum share of queries on which removing a word must have an effect for the state to be named after this effect.
 */
const MOST_QUERIES = 0.6;
/** Maximum share of queries on which removing a word has an effect by chance. */
const FEW_QUERIES = 0.3;
/** Minimum share of queries whose results differ from call to call. */
const UNSTEADY = 0.4;

/**
 * Calls made within seconds of each other show the same as consecutive golden runs, but sooner. If no query still has
 * changed results, the fault is over, and the calls show nothing.
 */
function readWords(effects: WordEffects): Sign[] {
  const { asked, varying, recovered, changed } = effects;
  if (changed === 0) return [];
  const calls = `Of ${asked} golden queries with changed results, ${varying} return different results from call to call, and ${recovered} alternate between their earlier and their changed results.`;
  if (varying >= UNSTEADY * asked) return [sign('again', 'differs', calls)];
  if (recovered >= UNSTEADY * asked) return [sign('again', 'alternates', calls)];
  return [
    ...(changed === asked && varying + recovered === 0 ? [sign('again', 'repeats', calls)] : []),
    ...readRemoved(effects),
  ];
}

function readRemoved({ changed, startIgnored, endIgnored, restored }: WordEffects): Sign[] {
  if (changed < MIN_CHANGED) return [];
  const numbers = `Of ${changed} golden queries with changed results, ${startIgnored} return the same results if a word near the start is removed, ${endIgnored} if a word near the end is removed, and ${restored} get most of their earlier results back if one of their words is removed.`;
  const [start, end, back] = [startIgnored / changed, endIgnored / changed, restored / changed];
  if (back >= MOST_QUERIES) return [sign('removed_words', 'restore', numbers)];
  if (end >= MOST_QUERIES && start >= MOST_QUERIES) return [sign('removed_words', 'all_ignored', numbers)];
  if (end >= MOST_QUERIES && start <= FEW_QUERIES) return [sign('removed_words', 'end_ignored', numbers)];
  return Math.max(start, end, back) <= FEW_QUERIES ? [sign('removed_words', 'usual', numbers)] : [];
}

function readStore(store: Observations['store']): Sign[] {
  if (store === null) return [];
  const { before, now } = store;
  if (now === 0) return [sign('store_size', 'emptied', 'The store has no vectors.', { before, now, unit: 'count' })];
  if (before === null || before === 0) return [];
  const change = now / before - 1;
  const values = { before, now, unit: 'count' } as const;
  const sentence = `The store has ${now} vectors (${formatValue(change, 'points')}); previously, it had ${before}.`;
  if (Math.abs(change) < SIZE_CHANGED)
    return [sign('store_size', change < -SIZE_SHRANK ? 'shrank' : 'steady', sentence, values)];
  return [sign('store_size', change < 0 ? 'fell' : 'grew', sentence, values)];
}

function readRecall({ before, value, ciHigh, k }: ObservedRecall): Sign {
  // Low recall is not a new fault if the recall of the index has always been low.
  const fell = before === null ? ciHigh < MIN_RECALL : ciHigh < before - RECALL_FELL;
  const was = before === null ? '' : `; previously, it returned ${percentage(before)}`;
  const sentence = `The index returns ${percentage(value)} of the ${k} exact nearest neighbors (upper 95 % bound ${percentage(ciHigh)})${was}.`;
  return sign('ann_recall', fell ? 'fell' : 'steady', sentence, { before, now: value, unit: 'share' });
}

/**
 * Minimum change in the share of results that are among the nearest documents in the store. The change must also be at
 * least `TIMES_SPREAD` times the usual spread of this share.
 */
const AGREEMENT_CHANGED = 0.05;
const TIMES_SPREAD = 1.5;
/**
 * Minimum share of results that are among the nearest documents in the store; a retriever with a lower share does not
 * search by the stored vectors.
 */
const MIN_AGREEMENT = 0.2;
/**
 * recalld measures the share of results among the nearest documents, and the share of results in a longer list of the
 * nearest documents. Results count as distant if the second share drops by at least this fraction of the drop in the
 * first share.
 */
const FAR = 0.5;
/**
 * Minimum drop in the share of results in the longer list. Smaller drops are normal, because a reranker that receives
 * different candidates returns a few distant documents.
 */
const SOME_FAR = 0.15;

function readAgreement({ before, now, spread, deep }: ObservedAgreement): Sign[] {
  if (before < MIN_AGREEMENT && now < MIN_AGREEMENT) return [];
  const numbers = `${percentage(now)} of the documents in golden results are among the query's nearest documents in the store (previously ${percentage(before)})`;
  const change = now - before;
  const values = { before, now, unit: 'share' } as const;
  if (Math.abs(change) < Math.max(AGREEMENT_CHANGED, TIMES_SPREAD * spread))
    return [sign('store_agreement', 'as_before', `${numbers}.`, values)];
  if (change > 0) return [sign('store_agreement', 'rose', `${numbers}.`, values)];
  const isFar = deep.before - deep.now >= Math.max(SOME_FAR, FAR * (before - now));
  const sentence = isFar
    ? `${numbers}; many of the others are not even in a longer list of nearest documents.`
    : `${numbers}; most of the others are in a longer list of nearest documents.`;
  return [sign('store_agreement', isFar ? 'fell_far' : 'fell_near', sentence, values)];
}

const MIN_MISSED = 3;
const SOME_FOREIGN = 0.2;

function readMissedVectors({ before, value, ciLow, n }: ObservedShare): Sign[] {
  // If the embedder adds a prefix to queries, or if a separate model embeds documents, no stored vector ever matches
  // the vector of its text.
  if (n < MIN_MISSED || (before ?? 0) >= SOME_FOREIGN) return [];
  const sentence = `Of ${n} stored documents that the run missed, ${percentage(value)} have a vector that does not match their text.`;
  const values = { before, now: value, unit: 'share' } as const;
  if (ciLow >= SOME_FOREIGN) return [sign('missed_vectors', 'foreign', sentence, values)];
  return value === 0 ? [sign('missed_vectors', 'own', sentence, values)] : [];
}

/**
 * Minimum rise in the share of missed documents whose text changed; some documents are simply changed by their owners.
 */
const MORE_CHANGED = 0.3;

function readMissedTexts({ before, value, ciLow, n, cut }: ObservedTexts): Sign[] {
  if (n < MIN_MISSED) return [];
  const changed = Math.round(value * n);
  const sentence = `Of ${n} stored documents that the run missed or ranked low, ${changed} have a different text than before; ${cut} of these contain only part of the earlier text.`;
  const values = { before, now: value, unit: 'share' } as const;
  if (value === 0) return [sign('missed_texts', 'same', sentence, values)];
  const hasRisen = ciLow > (before ?? 0) && value - (before ?? 0) >= MORE_CHANGED;
  return hasRisen ? [sign('missed_texts', 2 * cut > changed ? 'cut' : 'changed', sentence, values)] : [];
}

/**
 * Minimum rise in the share of returned documents missing from the store; a few may have been deleted before the
 * lookup.
 */
const MORE_ABSENT = 0.02;

/**
 * Returns no sign if there is no earlier value, because the service may always have returned ids that differ from those
 * in the store.
 */
function readReturned({ before, value, ciLow, n }: ObservedShare): Sign[] {
  if (before === null) return [];
  const sentence = `${percentage(value)} of the ${n} documents that the run returned are missing from the store (previously ${percentage(before)}).`;
  const values = { before, now: value, unit: 'share' } as const;
  if (value >= before + MORE_ABSENT && ciLow > before) return [sign('returned_documents', 'absent', sentence, values)];
  return value <= before && before < 1 ? [sign('returned_documents', 'stored', sentence, values)] : [];
}

function readCanary({ median, least, verdict }: ObservedCanary): Sign {
  const [state, said] = verdict === 'changed' ? (['changed', 'changed'] as const) : (['same', 'unchanged'] as const);
  const sentence = `Embedding canary ${said}: median cosine ${decimal(median)}, minimum ${decimal(least)}.`;
  return sign('canary', state, sentence, { before: 1, now: median, unit: 'score' });
}

/**
 * Kinds of findings that each sign shows. If findings of two kinds exist for a sign, the sign uses the finding whose
 * share of documents has the larger lower bound.
 */
const indexSigns: readonly {
  readonly kinds: readonly FindingKind[];
  readonly wrong: (sentence: string) => Sign;
  readonly well: Sign;
}[] = [
  {
    kinds: ['missing'],
    wrong: (sentence) => sign('index_documents', 'missing', sentence),
    well: sign('index_documents', 'whole', 'No document in the manifest is missing from the store.'),
  },
  {
    kinds: ['unretrievable'],
    wrong: (sentence) => sign('index_retrieval', 'not_found', sentence),
    well: sign('index_retrieval', 'found', 'Stored documents are found by a search for their own text.'),
  },
  {
    kinds: ['orphaned', 'superseded'],
    wrong: (sentence) => sign('index_orphans', 'some', sentence),
    well: sign('index_orphans', 'none', 'The store has no orphaned or superseded documents.'),
  },
  {
    kinds: ['other_model'],
    wrong: (sentence) => sign('index_models', 'mixed', sentence),
    well: sign('index_models', 'one', 'Stored vectors match what the embedder returns for their texts.'),
  },
];

function readIndex(index: readonly WrongShare[]): Sign[] {
  return indexSigns.flatMap(({ kinds, wrong, well }) => {
    const [worst] = index.filter(({ kind }) => kinds.includes(kind)).toSorted((a, b) => b.ciLow - a.ciLow);
    if (worst === undefined) return [];
    if (isWrong(worst)) return isMostlyNew(worst) ? [] : wrong(describeFinding(worst));
    return worst.value === 0 ? well : [];
  });
}

function readArrivals(lag: ArrivalLag | null, index: readonly WrongShare[]): Sign[] {
  if (lag !== null && isLate(lag)) return [sign('index_arrivals', 'late', describeLag(lag))];
  const missing = index.find((one) => isWrong(one) && isMostlyNew(one));
  if (missing !== undefined) return [sign('index_arrivals', 'late', describeNew(missing))];
  return lag === null ? [] : [sign('index_arrivals', 'in_time', 'Document changes reach the store in time.')];
}

function readDetected(deployments: readonly Deployment[]): Sign[] {
  const detected = deployments.filter(({ source }) => source === 'detected');
  const index = detected.filter(({ kind }) => kind === 'index').flatMap(({ changes }) => changes);
  const settings = index.filter(({ trait }) => !sizeTraits.has(trait) && !vectorTraits.has(trait));
  // Skips the canary, because a changed or restored canary is a separate sign.
  const embedder = detected.find(
    ({ kind, changes }) => kind === 'embedder' && changes.some(({ trait }) => trait !== 'canary'),
  );
  const signs: Sign[] = [];
  if (settings.length > 0) {
    const named = settings.map(({ trait, before, after }) => `${trait} from ${before ?? 'none'} to ${after ?? 'none'}`);
    signs.push(sign('index_settings', 'changed', `The index changed: ${named.join(', ')}.`));
  }
  if (embedder !== undefined)
    signs.push(sign('embedder', 'changed', `The embedder changed at ${minute(embedder.occurredAt)} UTC.`));
  else if (index.some(({ trait }) => vectorTraits.has(trait)))
    signs.push(sign('embedder', 'changed', 'The vectors in the store have a different dimension than before.'));
  return signs;
}

function readAnnotated(deployments: readonly Deployment[]): Sign {
  const annotated = deployments.flatMap(({ source, kind, ...one }) =>
    // Skips changes to the judge, because they do not change results.
    source === 'annotated' && kind !== 'judge' ? [{ kind, ...one }] : [],
  );
  const latest = annotated.find(({ kind }) => kind !== 'golden') ?? annotated[0];
  if (latest === undefined) return sign('deployment', 'none', 'No deployment was recorded after the last good run.');
  const more = annotated.length === 1 ? '' : `, the latest of ${annotated.length} deployments`;
  const sentence = `${latest.kind} ${latest.version} was deployed at ${minute(latest.occurredAt)} UTC${more}.`;
  return sign('deployment', latest.kind, sentence);
}

function readDensity({ value, ciLow, ciHigh, hasFallen, questions, since }: ObservedDensity): Sign {
  if (!hasFallen && since !== null) {
    const { sessions, uncovered } = since;
    const coverage = `${percentage(uncovered)} of traffic has been poorly covered (${plural(sessions, 'session')})`;
    const sentence = `Since the onset, ${coverage}; ${percentage(0.05)} in the baseline.`;
    const shares = { before: 0.05, now: uncovered, unit: 'share' } as const;
    return sign('density', since.hasFallen ? 'fell' : 'steady', sentence, shares);
  }
  const numbers = `${decimal(value)} (95 % CI ${decimal(ciLow)} to ${decimal(ciHigh)}; 1 in the baseline)`;
  const values = { before: 1, now: value, unit: 'ratio' } as const;
  if (!hasFallen) return sign('density', 'steady', `Query density is ${numbers}.`, values);
  if (questions === null) return sign('density', 'fell', `Query density dropped to ${numbers}.`, values);
  const state = `fell_${questions}_questions` as const;
  const asked =
    questions === 'new' ? 'the queries are about new subjects' : 'the queries are about the same subjects as before';
  return sign('density', state, `Query density dropped to ${numbers}; ${asked}.`, values);
}

function readTopics(topics: readonly ObservedTopic[]): Sign {
  const fresh = topics.filter(({ cause }) => cause === 'new_demand');
  const lost = topics.filter(({ cause }) => cause === 'lost_content');
  if (fresh.length > 0)
    return sign('topics', 'new_demand', `Users did not ask about these uncovered topics before: ${namesOf(fresh)}.`);
  if (lost.length > 0)
    return sign('topics', 'lost_content', `These uncovered topics were covered before: ${namesOf(lost)}.`);
  return sign('topics', 'none', 'No uncovered topic is open.');
}

function namesOf(topics: readonly ObservedTopic[]): string {
  return topics
    .slice(0, 3)
    .map(({ id, trafficShare }) => `${id} (${percentage(trafficShare)} of traffic)`)
    .join(', ');
}

function readSentinel(hasFallen: boolean): Sign {
  return hasFallen
    ? sign('sentinel', 'fallen', 'The latest sentinel run failed.')
    : sign('sentinel', 'stands', 'The latest sentinel run passed.');
}

function readOwnWork(work: OwnWork): Sign {
  switch (work.kind) {
    case 'done':
      return sign('own_work', 'done', 'Golden runs start on time and complete.');
    case 'starved':
      return sign('own_work', 'starved', describeDelays(work));
    case 'overdue': {
      const intervals = `${decimal(work.intervals)} scheduled intervals`;
      return sign('own_work', 'overdue', `No run of ${work.goldenSet} has started for ${intervals}.`);
    }
    case 'failed':
      return sign('own_work', 'failed', `A run of ${work.goldenSet} did not complete: ${work.reason}`);
  }
}
