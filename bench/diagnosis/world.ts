/** One world: a pipeline, a fault, the firing alerts, and the data that the daemon would have collected. */

import type { ComparedSide } from '../../src/golden/rules/compare-golden-runs.ts';
import { type DocumentFate, judgedDocuments, probeLabels } from '../../src/golden/rules/labels.ts';
import type { AnsweredStage, QueryAnswer } from '../../src/golden/rules/run.ts';
import { answeredStages } from '../../src/golden/rules/stages.ts';
import { type Observations, observedRun } from '../../src/incidents/diagnosis/rules/observations.ts';
import type { Deployment, DeploymentKind } from '../../src/live/deployments/rules/deployment.ts';
import { mean, summarize } from '../../src/math/stats/descriptive.ts';
import { neighbourRecall } from '../../src/math/vector/nearest-neighbours.ts';
import { type RandomNumbers, randomNumbers } from '../random-numbers.ts';
import { alertsOf, drawAlert } from './alerts.ts';
import { type Chunk, type Corpus, indexOf, type Question, search } from './corpus.ts';
import { observeCoverage } from './coverage.ts';
import { type Broken, type Call, type Fault, TIMEOUT_MS } from './fault.ts';
import { drawShape, type Shape, type Worlds } from './shape.ts';
import { contextsOf, drawTraffic, levelOf, observeLive, observeReplay, type TrafficShape } from './traffic.ts';

export interface World {
  readonly shape: Shape;
  readonly observed: Observations;
}

const MAX_DRAWS = 40;

/** Draws random pipelines and fault sizes until an alert fires, and returns the world in which it fires. */
export function drawWorld(
  corpusOf: (random: RandomNumbers) => Corpus,
  worlds: Worlds,
  fault: Fault,
  seed: number,
): World {
  const random = randomNumbers(seed);
  // Traits that were added later use separate random numbers, so that the other traits of a world stay the same.
  const other = randomNumbers(seed + 0.5e9);
  for (let draw = 0; draw < MAX_DRAWS; draw++) {
    const world = lookAt(corpusOf(random), drawShape(worlds, random), drawTraffic(other), fault, { random, other });
    if (world !== null) return world;
  }
  throw new RangeError(`The fault ${fault.name} with the seed ${seed} raised no alarm in ${MAX_DRAWS} draws.`);
}

interface Chance {
  readonly random: RandomNumbers;
  readonly other: RandomNumbers;
}

function lookAt(
  corpus: Corpus,
  shape: Shape,
  traffic: TrafficShape,
  fault: Fault,
  { random, other }: Chance,
): World | null {
  const { k, segments, latencyMs } = shape;
  const asked = questionsOf(corpus, shape, random);
  const healthy = {
    chunks: corpus.chunks,
    golden: asked.golden,
    k,
    latencyMs,
    segments,
    traffic,
    liveQueries: shape.liveQueries,
  };
  const broken = fault.breakIt(healthy, random);
  if (broken === null) return null;
  const runs = simulateRuns(corpus, shape, broken, fault.cause === 'filter', asked.golden, random);
  const held = broken.chunks ?? corpus.chunks;
  const hasLooked = shape.hasStore && (held.length > 0 || random.uniform() < 0.8);
  const heldBefore = broken.chunksUntilNow ?? corpus.chunks;
  const judged = judgedDocuments(runs.now.queries);
  const probe = probeLabels(runs.now.queries, new Set(held.map(({ id }) => id)), 1, fatesIn(held, judged));
  const labels = probe.kind === 'probed' && hasLooked ? probe : null;
  const earlier = probeLabels(runs.reference.queries, new Set(heldBefore.map(({ id }) => id)), 1);
  const isSameVersion = broken.golden === undefined || broken.chunksUntilNow !== undefined;
  const run = observedRun({
    goldenSet: 'golden',
    now: runs.now,
    labels: labels === null ? null : { probed: judged.length, stale: labels.stale, deleted: 0, lost: labels.lost },
    forbidden: null,
    stale: labels?.touched ?? new Set(),
    lost: new Set(labels?.labels.flatMap(({ fate, queryId }) => (fate === 'lost' ? [queryId] : []))),
    key: { measure: 'ndcg', k },
    level: null,
    reference: {
      side: runs.reference,
      version: 1,
      isSameVersion,
      labels: labels !== null && earlier.kind === 'probed' ? earlier : null,
      stages: shape.candidates === null ? null : { before: stagesOf(runs.reference), now: stagesOf(runs.now) },
      contexts: traffic.hasTexts
        ? { before: contextsOf(runs.reference, 1), now: contextsOf(runs.now, broken.textShare ?? 1) }
        : { before: [], now: [] },
    },
    previous: runs.previous,
    older: runs.older,
    live: [],
  });
  const isOtherModel = broken.embed !== undefined && fault.cause === 'embedding_model';
  const canary = shape.hasEmbedder ? canaryOf(isOtherModel && shape.isEmbedderShared) : null;
  const coverage = shape.hasDensity
    ? observeCoverage(asked, broken.chunksUntilNow ?? corpus.chunks, held, broken, canary?.verdict ?? 'same', random)
    : { density: null, topics: null };
  const loss = run.reference?.loss ?? null;
  // Wrong judgments lower the score, but do not make user feedback worse.
  const lost =
    loss === null || loss.before === 0 || broken.golden !== undefined ? 0 : Math.max(0, 1 - loss.now / loss.before);
  const live = observeLive(shape, traffic, broken, runs, lost, random, other);
  const observed: Observations = {
    firing: [],
    onset: null,
    samples: {},
    run,
    relevance: null,
    judge: null,
    live,
    store: shape.hasStore
      ? { before: heldBefore.length, now: Math.round(held.length * (1 + 0.004 * random.normal())) }
      : null,
    index: [],
    arrivals: null,
    annRecall: shape.hasEmbedder ? observeRecall(asked.live, corpus.chunks, held, shape, broken, random) : null,
    storeAgreement: null,
    missedVectors: null,
    returnedAbsent: null,
    liveReplay: observeReplay(shape, broken, runs, other),
    wordEffects: null,
    missedTexts: null,
    canary,
    deployments: deploymentsOf(shape, broken),
    ...coverage,
    sentinel: null,
    isolation: null,
    ownWork: broken.ownWork ?? { kind: 'done' },
  };
  const isQuiet = fault.cause === 'unknown' && Object.keys(broken).every((key) => harmless.has(key));
  const firing = isQuiet
    ? [drawAlert(observed, random)]
    : alertsOf(observed, runs, shape, broken.alwaysGolden !== undefined, random);
  const isFiring = firing.length > 0 || broken.ownWork !== undefined || isFailing(runs.now);
  const floor = { slack: shape.slack, isAlwaysLow: broken.alwaysGolden !== undefined };
  const level = firing.includes('score') ? levelOf(loss, live, floor) : null;
  return isFiring ? { shape, observed: { ...observed, firing, run: { ...run, level } } } : null;
}

const harmless: ReadonlySet<string> = new Set<keyof Broken>(['annotated', 'latency', 'chunks', 'golden']);

interface Asked {
  readonly golden: readonly Question[];
  readonly baseline: readonly Question[];
  readonly live: readonly Question[];
}

const BASELINE = 250;
const LIVE = 250;

function questionsOf({ questions }: Corpus, { golden, segments }: Shape, random: RandomNumbers): Asked {
  const shuffled = questions
    .map((question) => ({ question, by: random.uniform() }))
    .toSorted((a, b) => a.by - b.by)
    .map(({ question }) => question);
  const tagged = (question: Question): Question =>
    segments === 0 ? question : { ...question, tags: { tenant: `t${tenantOf(question.topic) % segments}` } };
  return {
    golden: shuffled.slice(0, golden).map(tagged),
    baseline: shuffled.slice(golden, golden + BASELINE),
    live: shuffled.slice(golden + BASELINE, golden + BASELINE + LIVE),
  };
}

/** Returns a hash of the topic, from which the segment of the topic's queries is derived. */
function tenantOf(topic: string): number {
  let hash = 7;
  for (let i = 0; i < topic.length; i++) hash = Math.imul(hash, 31) + topic.charCodeAt(i);
  return Math.abs(hash >> 3);
}

interface StagedRun extends ComparedSide {
  readonly answers: readonly StagedAnswer[];
}

interface StagedAnswer extends QueryAnswer {
  readonly stages: readonly AnsweredStage[];
}

const stagesOf = ({ answers }: StagedRun): ReadonlyMap<string, readonly AnsweredStage[]> =>
  new Map(answers.flatMap(({ queryId, stages }) => (stages.length === 0 ? [] : [[queryId, stages] as const])));

interface Runs {
  readonly reference: StagedRun;
  readonly previous: ComparedSide | null;
  readonly now: StagedRun;
  readonly older: readonly { readonly at: Date; readonly side: ComparedSide }[];
}

function simulateRuns(
  { chunks }: Corpus,
  shape: Shape,
  broken: Broken,
  /** True if the fault removes results in a filter, which the retriever reports as a separate stage. */
  isFilter: boolean,
  golden: readonly Question[],
  random: RandomNumbers,
): Runs {
  const settings = {
    cutoffs: [shape.k],
    relevanceLevel: 1,
    concurrency: 4,
    maxPerSecond: 1000,
    onError: 'score_zero' as const,
    errorBudget: 0.05,
    segmentKeys: shape.segments === 0 ? [] : ['tenant'],
    maxSegments: 50,
  };
  const indexSeed = random.below(2 ** 31);
  const searches = new Map<number, Search>();
  const searchBy = (quality: number): Search => {
    const known =
      searches.get(quality) ??
      createSearch(indexOf(shape.index, chunks, quality, randomNumbers(indexSeed)), shape.k * (shape.candidates ?? 1));
    searches.set(quality, known);
    return known;
  };
  const run = (queries: readonly Question[], held: readonly Chunk[], how: Broken, count: number): StagedRun => {
    const find = searchBy(shape.quality * (how.quality ?? 1));
    const answers = queries.map((query, index) =>
      answer({ query, place: index / queries.length, run: count, random }, held, shape, how, isFilter, find),
    );
    return { queries, answers, settings };
  };
  const now = broken.chunks ?? chunks;
  const before = broken.chunksUntilNow ?? chunks;
  const first = broken.alwaysGolden?.(golden) ?? golden;
  // If the documents were updated before the reference run, that run already used the judgments for their new version.
  const labelled = broken.golden?.(first) ?? first;
  const known = broken.chunksUntilNow === undefined ? first : labelled;
  const bad = Array.from({ length: shape.badRuns }, (_, count) => count).slice(-2);
  const [last, previous] = bad.map((count) => run(labelled, now, broken, count)).toReversed();
  return {
    reference: run(known, before, {}, 0),
    previous: previous ?? null,
    now: last as StagedRun,
    older: Array.from({ length: shape.olderRuns }, (_, index) => ({
      at: new Date(Date.UTC(2026, 10, 18 - index)),
      side: run(first, index === 0 ? before : chunks, {}, 0),
    })),
  };
}

type Search = (held: readonly Chunk[], vector: Float32Array) => readonly string[];

function createSearch(looksAt: ReturnType<typeof indexOf>, k: number): Search {
  const found = new WeakMap<readonly Chunk[], WeakMap<Float32Array, readonly string[]>>();
  return (held, vector) => {
    const known = found.get(held) ?? new WeakMap<Float32Array, readonly string[]>();
    found.set(held, known);
    const ids = known.get(vector) ?? search(held, vector, k, looksAt(vector)).map(({ id }) => id);
    known.set(vector, ids);
    return ids;
  };
}

function answer(
  call: Call,
  held: readonly Chunk[],
  { waver, latencyMs, latencySpread, candidates, k }: Shape,
  how: Broken,
  isFilter: boolean,
  find: Search,
): StagedAnswer {
  const { query, random } = call;
  const usual = latencyMs * Math.exp(latencySpread * random.normal());
  const latency = how.latency?.(usual, call) ?? usual;
  const failure = latency >= TIMEOUT_MS ? 'timeout' : (how.failure?.(call) ?? null);
  const base = {
    queryId: query.id,
    latencyMs: Math.min(latency, TIMEOUT_MS),
    attempts: 1,
    errorMessage: null,
    stages: [],
  };
  if (failure === 'timeout') return { ...base, outcome: 'timeout', documents: [], errorCode: null };
  if (failure !== null) return { ...base, outcome: 'error', documents: [], errorCode: failure };
  const isCached = how.answersOf !== undefined && how.answersOf(call) !== query;
  const asked = how.answersOf?.(call) ?? query;
  const vector = how.embed?.(asked.vector) ?? asked.vector;
  const found = find(how.searched?.(call) ?? held, vector);
  const wavered = isCached ? found : waverOf(found, waver, random);
  const ids = (how.results?.(wavered, call) ?? wavered).slice(0, k);
  // The reranker keeps the order of the candidates, unless the fault affects the reranker.
  const stages = [
    { name: 'candidates', documents: wavered },
    { name: 'filtered', documents: isFilter ? (how.results?.(wavered, call) ?? wavered) : wavered },
  ].map(({ name, documents }) => ({ name, documents: documents.map((id) => ({ id })) }));
  return {
    ...base,
    outcome: ids.length === 0 ? 'empty' : 'ok',
    documents: ids.map((id) => ({ id, score: null })),
    errorCode: null,
    stages: candidates === null ? [] : answeredStages(query, stages, undefined),
  };
}

/** Swaps random adjacent results, as a retriever may do if their scores are nearly equal. */
function waverOf(ids: readonly string[], waver: number, random: RandomNumbers): readonly string[] {
  if (waver === 0) return ids;
  const wavered = [...ids];
  for (let place = 1; place < wavered.length; place++) {
    if (random.uniform() >= waver) continue;
    const [a, b] = [wavered[place - 1] as string, wavered[place] as string];
    [wavered[place - 1], wavered[place]] = [b, a];
  }
  return wavered;
}

function canaryOf(isOther: boolean): NonNullable<Observations['canary']> {
  return isOther ? { median: 0.04, least: -0.2, verdict: 'changed' } : { median: 1, least: 1, verdict: 'same' };
}

const RECALL_QUERIES = 40;
const RECALL_K = 10;

function observeRecall(
  live: readonly Question[],
  built: readonly Chunk[],
  held: readonly Chunk[],
  { index, quality }: Shape,
  broken: Broken,
  random: RandomNumbers,
): Observations['annRecall'] {
  const seed = random.below(2 ** 31);
  const measure = (share: number): number[] => {
    const looksAt = indexOf(index, built, share, randomNumbers(seed));
    return live.slice(0, RECALL_QUERIES).flatMap(({ vector }) => {
      const exact = search(held, vector, RECALL_K);
      return neighbourRecall(search(held, vector, RECALL_K, looksAt(vector)), exact) ?? [];
    });
  };
  const now = measure(quality * (broken.quality ?? 1));
  if (now.length === 0) return null;
  const { mean: value, ciLow, ciHigh, n } = summarize(now, 'recall');
  return { before: mean(measure(quality)), value, ciLow, ciHigh, n, k: RECALL_K };
}

function deploymentsOf({ decoy }: Shape, { annotated, isDetected }: Broken): Deployment[] {
  return [
    ...(annotated === undefined ? [] : [deployment(annotated, 'annotated')]),
    ...(decoy === null ? [] : [deployment(decoy, 'annotated')]),
    ...(isDetected === true ? [deployment('index', 'detected')] : []),
  ];
}

function deployment(kind: DeploymentKind, source: Deployment['source']): Deployment {
  return {
    id: '1',
    pipeline: 'bench',
    kind,
    version: 'release-42',
    note: null,
    occurredAt: new Date('2026-11-20T12:00:00Z'),
    source,
    changes: source === 'detected' ? [{ trait: 'ef_search', before: '80', after: '10' }] : [],
  };
}

function isFailing({ answers }: ComparedSide): boolean {
  return answers.filter(({ outcome }) => outcome === 'error' || outcome === 'timeout').length >= 0.05 * answers.length;
}

/** A chunk that was split or renamed keeps its text; a chunk that was rewritten or deleted does not. */
function fatesIn(held: readonly Chunk[], judged: readonly string[]): ReadonlyMap<string, DocumentFate> {
  const texts = new Set(held.map(({ id }) => id.replace(/^new:/, '').replace(/#\d+$/, '')));
  return new Map(judged.map((id) => [id, texts.has(id) ? 'superseded' : 'lost']));
}
