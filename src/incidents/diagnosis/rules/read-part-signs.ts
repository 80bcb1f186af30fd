/** Reads the signs from the components of a pipeline, from recent changes, and from recalld itself. */

import { decimal, formatValue, minute, percentage } from '../../../core/format.ts';
import {
  type ArrivalLag,
  describeFinding,
  describeLag,
  type FindingKind,
  isLate,
  isWrong,
  type WrongShare,
} from '../../../index/truth/rules/findings.ts';
import type { Deployment } from '../../../live/deployments/rules/deployment.ts';
import type {
  Observations,
  ObservedAgreement,
  ObservedCanary,
  ObservedDensity,
  ObservedMissed,
  ObservedRecall,
  ObservedTopic,
  OwnWork,
} from './observations.ts';
import { describeDelays } from './own-delays.ts';
import { type Sign, sign } from './signs.ts';

/** Minimum change in the number of stored vectors; smaller changes are ignored. */
const SIZE_CHANGED = 0.02;
/**
 * Minimum loss of vectors. A smaller loss may come from a few corrected documents; a larger loss may be the start of
 * one that continues.
 */
const SIZE_SHRANK = 0.005;
const RECALL_FELL = 0.02;
/** Same threshold as the alert RecalldIndexRecallLow. */
const MIN_RECALL = 0.9;
/** Traits that depend on the size of the store, not on its settings. */
const sizeTraits: ReadonlySet<string> = new Set(['size_class']);
/** Store traits that change with the embedding model. */
const vectorTraits: ReadonlySet<string> = new Set(['dimensions']);

export function readPartSigns(
  observed: Omit<Observations, 'run' | 'live' | 'relevance' | 'judge' | 'firing' | 'onset' | 'samples'>,
): Sign[] {
  const {
    store,
    annRecall,
    storeAgreement,
    missedVectors,
    canary,
    index,
    arrivals,
    deployments,
    density,
    topics,
    sentinel,
    ownWork,
  } = observed;
  return [
    ...readStore(store),
    ...(annRecall === null ? [] : [readRecall(annRecall)]),
    ...(storeAgreement === null ? [] : readAgreement(storeAgreement)),
    ...(missedVectors === null ? [] : readMissedVectors(missedVectors)),
    ...(canary === null ? [] : [readCanary(canary)]),
    ...readIndex(index),
    ...(arrivals === null ? [] : [readArrivals(arrivals)]),
    ...readDetected(deployments),
    readAnnotated(deployments),
    ...(density === null ? [] : [readDensity(density)]),
    // A topic alone is no sign, because some topics are small or due to chance.
    ...(topics === null || density?.hasFallen !== true ? [] : [readTopics(topics)]),
    ...(sentinel === null ? [] : [readSentinel(sentinel.hasFallen)]),
    ...(ownWork === null ? [] : [readOwnWork(ownWork)]),
  ];
}

function readStore(store: Observations['store']): Sign[] {
  if (store === null) return [];
  const { before, now } = store;
  if (now === 0) return [sign('store_size', 'emptied', 'The store has no vectors.', { before, now, unit: 'count' })];
  if (before === null || before === 0) return [];
  const change = now / before - 1;
  const values = { before, now, unit: 'count' } as const;
  const sentence = `The store has ${now} vectors, ${before} before (${formatValue(change, 'points')}).`;
  if (Math.abs(change) < SIZE_CHANGED)
    return [sign('store_size', change < -SIZE_SHRANK ? 'shrank' : 'steady', sentence, values)];
  return [sign('store_size', change < 0 ? 'fell' : 'grew', sentence, values)];
}

function readRecall({ before, value, ciHigh, k }: ObservedRecall): Sign {
  // Low recall is not a new fault if the index has always had it.
  const fell = before === null ? ciHigh < MIN_RECALL : ciHigh < before - RECALL_FELL;
  const was = before === null ? '' : `, ${percentage(before)} before`;
  const sentence = `The index returns ${percentage(value)} of the ${k} exact nearest neighbors (upper 95 % bound ${percentage(ciHigh)})${was}.`;
  return sign('ann_recall', fell ? 'fell' : 'steady', sentence, { before, now: value, unit: 'share' });
}

/** Minimum change in agreement; if agreement varies, the change must also exceed this multiple of its spread. */
const AGREEMENT_CHANGED = 0.05;
const TIMES_SPREAD = 1.5;
/** Minimum agreement of the results with the store. Below it, the retriever does not search by the stored vectors. */
const MIN_AGREEMENT = 0.2;
/**
 * Minimum share of the documents no longer among the nearest that are also absent from the longer list of nearest
 * documents, so that the results count as distant.
 */
const FAR = 0.5;
/**
 * Share of distant documents that is normal, because a reranker with other candidates returns a few documents from
 * further away.
 */
const SOME_FAR = 0.15;

function readAgreement({ before, now, spread, deep }: ObservedAgreement): Sign[] {
  if (before < MIN_AGREEMENT && now < MIN_AGREEMENT) return [];
  const numbers = `${percentage(now)} of the documents in golden results are among the nearest in the store, ${percentage(before)} before`;
  const change = now - before;
  const values = { before, now, unit: 'share' } as const;
  if (Math.abs(change) < Math.max(AGREEMENT_CHANGED, TIMES_SPREAD * spread))
    return [sign('store_agreement', 'as_before', `${numbers}.`, values)];
  if (change > 0) return [sign('store_agreement', 'rose', `${numbers}.`, values)];
  const isFar = deep.before - deep.now >= Math.max(SOME_FAR, FAR * (before - now));
  const sentence = isFar
    ? `${numbers}; the others are not among the next nearest either.`
    : `${numbers}; most of the others are among the next nearest.`;
  return [sign('store_agreement', isFar ? 'fell_far' : 'fell_near', sentence, values)];
}

const MIN_MISSED = 3;
const SOME_FOREIGN = 0.2;

function readMissedVectors({ before, value, ciLow, n }: ObservedMissed): Sign[] {
  // If the embedder adds a prefix to queries, or if a separate model embeds documents, every stored vector looks
  // foreign at all times.
  if (n < MIN_MISSED || (before ?? 0) >= SOME_FOREIGN) return [];
  const sentence = `${percentage(value)} of ${n} stored documents that the run missed have a vector that does not match their text.`;
  const values = { before, now: value, unit: 'share' } as const;
  if (ciLow >= SOME_FOREIGN) return [sign('missed_vectors', 'foreign', sentence, values)];
  return value === 0 ? [sign('missed_vectors', 'own', sentence, values)] : [];
}

function readCanary({ median, least, verdict }: ObservedCanary): Sign {
  const values = { before: 1, now: median, unit: 'score' } as const;
  const numbers = `median cosine ${decimal(median)}, minimum ${decimal(least)}`;
  return verdict === 'changed'
    ? sign('canary', 'changed', `Embedding canary changed: ${numbers}.`, values)
    : sign('canary', 'same', `Embedding canary unchanged: ${numbers}.`, values);
}

/** If two kinds of finding share a sign, the finding with the larger lower bound is used. */
function readIndex(index: readonly WrongShare[]): Sign[] {
  const worstOf = (...kinds: readonly FindingKind[]): WrongShare | undefined =>
    index.filter(({ kind }) => kinds.includes(kind)).toSorted((a, b) => b.ciLow - a.ciLow)[0];
  const [missing, notFound, left, models] = [
    worstOf('missing'),
    worstOf('unretrievable'),
    worstOf('orphaned', 'superseded'),
    worstOf('other_model'),
  ];
  return [
    ...stated(
      missing,
      sign('index_documents', 'missing', said(missing)),
      sign('index_documents', 'whole', 'No document of the manifest is missing from the store.'),
    ),
    ...stated(
      notFound,
      sign('index_retrieval', 'not_found', said(notFound)),
      sign('index_retrieval', 'found', 'Documents in the store are returned for their own text.'),
    ),
    ...stated(
      left,
      sign('index_orphans', 'some', said(left)),
      sign('index_orphans', 'none', 'The store has no orphaned or superseded documents.'),
    ),
    ...stated(
      models,
      sign('index_models', 'mixed', said(models)),
      sign('index_models', 'one', 'Stored vectors match what the embedder returns for their texts.'),
    ),
  ];
}

function readArrivals(lag: ArrivalLag): Sign {
  return isLate(lag)
    ? sign('index_arrivals', 'late', describeLag(lag))
    : sign('index_arrivals', 'in_time', 'Document changes reach the store in time.');
}

/** Returns one of the two signs, or none if the state is unknown. */
function stated<Found>(one: WrongShare | undefined, wrong: Found, well: Found): Found[] {
  if (one === undefined) return [];
  if (isWrong(one)) return [wrong];
  return one.value === 0 ? [well] : [];
}

function said(one: WrongShare | undefined): string {
  return one === undefined ? '' : describeFinding(one);
}

/** Reads the changes that probes detected. */
function readDetected(deployments: readonly Deployment[]): Sign[] {
  const detected = deployments.filter(({ source }) => source === 'detected');
  const index = detected.filter(({ kind }) => kind === 'index').flatMap(({ changes }) => changes);
  const settings = index.filter(({ trait }) => !sizeTraits.has(trait) && !vectorTraits.has(trait));
  // Skips the canary, because a changed or restored canary is a separate sign.
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
              ? 'The vectors in the store have a different dimension than before.'
              : `The embedder changed at ${minute(embedder.occurredAt)} UTC.`,
          ),
        ]),
  ];
}

/** Reads the latest annotated change. */
function readAnnotated(deployments: readonly Deployment[]): Sign {
  const annotated = deployments.flatMap(({ source, kind, ...one }) =>
    // Skips changes of the judge, which do not change results.
    source === 'annotated' && kind !== 'judge' ? [{ kind, ...one }] : [],
  );
  const latest = annotated.find(({ kind }) => kind !== 'golden') ?? annotated[0];
  if (latest === undefined) return sign('deployment', 'none', 'No deployment was annotated after the last good run.');
  const more = annotated.length === 1 ? '' : `, the latest of ${annotated.length} deployments`;
  const sentence = `${latest.kind} ${latest.version} was deployed at ${minute(latest.occurredAt)} UTC${more}.`;
  return sign('deployment', latest.kind, sentence);
}

function readDensity({ value, ciLow, ciHigh, hasFallen, questions }: ObservedDensity): Sign {
  const numbers = `${decimal(value)} (95 % CI ${decimal(ciLow)} to ${decimal(ciHigh)}; 1 in the baseline)`;
  const values = { before: 1, now: value, unit: 'ratio' } as const;
  if (!hasFallen) return sign('density', 'steady', `Query density is ${numbers}.`, values);
  if (questions === null) return sign('density', 'fell', `Query density dropped to ${numbers}.`, values);
  const state = `fell_${questions}_questions` as const;
  const asked = questions === 'new' ? 'the queries are about new subjects' : 'the queries are the same as before';
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
    ? sign('sentinel', 'fallen', 'The latest sentinel query failed.')
    : sign('sentinel', 'stands', 'The latest sentinel query passed.');
}

function readOwnWork(work: OwnWork): Sign {
  switch (work.kind) {
    case 'done':
      return sign('own_work', 'done', 'Golden runs start on time and complete.');
    case 'starved':
      return sign('own_work', 'starved', describeDelays(work));
    case 'overdue':
      return sign(
        'own_work',
        'overdue',
        `No run of ${work.goldenSet} started for ${decimal(work.intervals)} scheduled intervals.`,
      );
    case 'failed':
      return sign('own_work', 'failed', `A run of ${work.goldenSet} did not complete: ${work.reason}`);
  }
}
