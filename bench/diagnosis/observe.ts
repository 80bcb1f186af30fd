/** What the daemon would know of a broken pipeline: real answers, real measures of core, nothing told by the fault. */
import { readCause, topicCause } from '../../src/density/rules/cause.ts';
import { canaryTexts, embeddingCanary } from '../../src/density/rules/embedding-canary.ts';
import { densityInterval, densityOf, uncoveredShareOf } from '../../src/density/rules/query-density.ts';
import {
  baselineScores,
  coverageScore,
  NO_REGION,
  percentile,
  surpriseOf,
} from '../../src/density/rules/query-score.ts';
import type { Deployment, DeploymentKind } from '../../src/deployments/rules/deployment.ts';
import { changedAnswers } from '../../src/diagnosis/rules/changed-answers.ts';
import type { Observations, ObservedDensity, ObservedTopic } from '../../src/diagnosis/rules/observations.ts';
import { judgedDocuments, probeLabels } from '../../src/golden/rules/labels.ts';
import type { QueryAnswer, RunSettings } from '../../src/golden/rules/run.ts';
import { mean, summarize } from '../../src/stats/descriptive.ts';
import { drawn } from '../../src/stats/random.ts';
import { randomNumbers } from '../random-numbers.ts';
import { type Broken, type Fault, healthyLatency, outcomeOf } from './faults.ts';
import {
  type Chunk,
  type Corpus,
  dot,
  drawPivots,
  type Question,
  recallOf,
  search,
  searchApproximately,
} from './world.ts';

/**
 * `all parts`: a store and an embedder are in the config. `blind`: neither is, only the retriever is asked. `decoy`: all
 * parts, and a harmless deployment was annotated a short while before.
 */
export type Sight = 'all parts' | 'decoy' | 'blind';

const GOLDEN = 250;
const BASELINE = 500;
const LIVE = 300;
const K = 10;
const LISTS = 16;
const PROBES = 14;
const RECALL_QUERIES = 50;
/** Baseline queries by which the usual familiarity is known. */
const FAMILIAR = 150;
const settings: RunSettings = {
  cutoffs: [K],
  relevanceLevel: 1,
  concurrency: 4,
  maxPerSecond: 1000,
  onError: 'score_zero',
  errorBudget: 0.05,
  segmentKeys: [],
  maxSegments: 1,
};

/** What is known of one fault, by what the config has. */
export function observeFault(corpus: Corpus, fault: Fault, seed: number): Readonly<Record<Sight, Observations>> {
  const random = randomNumbers(seed);
  const broken = fault.breakIt(corpus, seed, random);
  const world = splitUp(corpus, seed, broken.newTopic ?? 0);
  const store = broken.chunks ?? world.chunks;
  const pivots = drawPivots(world.chunks, LISTS, seed);
  const run = (queries: readonly Question[], chunks: readonly Chunk[], how: Broken): QueryAnswer[] =>
    queries.map((query) => {
      const latencyMs = how.latencyMs?.() ?? healthyLatency(random);
      const outcome = outcomeOf(how, latencyMs);
      const vector = how.embed?.(query.text) ?? corpus.embedder.embed(query.text);
      const found = outcome === 'ok' ? searchApproximately(chunks, pivots, vector, K, how.probes ?? PROBES) : [];
      const documents = (how.rerank?.(found) ?? found).map(({ id }) => ({ id, score: null }));
      return {
        queryId: query.id,
        outcome: outcome === 'ok' && documents.length === 0 ? 'empty' : outcome,
        documents,
        latencyMs,
        attempts: 1,
        errorCode: outcome === 'error' ? 'http_503' : null,
        errorMessage: null,
      };
    });
  const golden = broken.wrongLabels === undefined ? world.golden : mislabelled(world.golden, broken.wrongLabels, seed);
  const before = { queries: world.golden, answers: run(world.golden, world.chunks, {}), settings };
  const after = { queries: golden, answers: run(golden, store, broken), settings };
  const labels = probeLabels(golden, new Set(store.map(({ id }) => id)), 1);
  const stale = labels.kind === 'probed' ? labels : { stale: 0, touched: new Set<string>() };
  const outcomes = { ok: 0, empty: 0, error: 0, timeout: 0 };
  for (const { outcome } of after.answers) outcomes[outcome] += 1;
  const canary = embeddingCanary(
    canaryTexts.map((text) => ({
      stored: corpus.embedder.embed(text),
      recomputed: broken.embed?.(text) ?? corpus.embedder.embed(text),
    })),
  );
  const coverage = observeCoverage(world, store, canary.verdict);
  const runOf = (touched: ReadonlySet<string>, isSeen: boolean): Observations['run'] => ({
    goldenSet: 'golden',
    outcomes,
    commonError: outcomes.error > 0 ? 'http_503' : null,
    latency95Ms: latency95(after.answers),
    labels: isSeen ? { probed: judgedDocuments(golden).length, stale: stale.stale } : null,
    reference: {
      latency95Ms: latency95(before.answers),
      staleBefore: isSeen ? 0 : null,
      version: 1,
      isSameVersion: broken.wrongLabels === undefined,
      answers: changedAnswers(before, after, touched),
    },
  });
  const deployments = [
    ...(broken.isAnnotated === true ? [annotated('retriever', 'release-42')] : []),
    ...(broken.wrongLabels === undefined ? [] : [annotated('golden', 'version-2')]),
  ];
  const all: Observations = {
    run: runOf(stale.touched, true),
    live: null,
    store: { before: world.chunks.length, now: store.length },
    annRecall: observeRecall(corpus, world, store, pivots, broken),
    canary,
    deployments,
    density: coverage.density,
    topics: coverage.topics,
    sentinel: null,
    ownWork: broken.ownWork ?? { kind: 'done' },
  };
  const unseen = { store: null, annRecall: null, canary: null, density: null, topics: null };
  return {
    'all parts': all,
    decoy: { ...all, deployments: [...deployments, annotated('retriever', 'harmless')] },
    blind: { ...all, ...unseen, run: runOf(new Set(), false) },
  };
}

interface World {
  readonly corpus: Corpus;
  /** What the store holds while all is well. */
  readonly chunks: readonly Chunk[];
  readonly golden: readonly Question[];
  /** Live queries of the baseline, and of now. */
  readonly baseline: readonly Question[];
  readonly live: readonly Question[];
}

/** Articles of the new topic are not in the store, and nobody asked about them before. */
function splitUp(corpus: Corpus, seed: number, newTopic: number): World {
  const titles = [...new Set(corpus.chunks.map(({ title }) => title))];
  const absent = new Set(newTopic === 0 ? [] : drawn(titles, 5, seed));
  const shuffled = drawn(corpus.questions, corpus.questions.length, seed);
  const known = shuffled.filter(({ title }) => !absent.has(title));
  const unknown = shuffled.filter(({ title }) => absent.has(title)).slice(0, Math.round(newTopic * LIVE));
  return {
    corpus,
    chunks: corpus.chunks.filter(({ title }) => !absent.has(title)),
    golden: known.slice(0, GOLDEN),
    baseline: known.slice(GOLDEN, GOLDEN + BASELINE),
    live: [...unknown, ...known.slice(GOLDEN + BASELINE)].slice(0, LIVE),
  };
}

function mislabelled(queries: readonly Question[], share: number, seed: number): Question[] {
  const wrong = new Set(drawn(queries, Math.round(share * queries.length), seed).map(({ id }) => id));
  const other = queries.map(({ judgments }) => judgments);
  return queries.map((query, index) =>
    wrong.has(query.id) ? { ...query, judgments: other[(index + 7) % other.length] ?? [] } : query,
  );
}

function observeRecall(
  { embedder }: Corpus,
  { live, chunks }: World,
  store: readonly Chunk[],
  pivots: readonly Float32Array[],
  { probes = PROBES }: Broken,
): Observations['annRecall'] {
  const vectors = live.slice(0, RECALL_QUERIES).map(({ text }) => embedder.embed(text));
  const measure = (held: readonly Chunk[], lists: number): number[] =>
    recallOf(
      (vector) => search(held, vector, K),
      (vector) => searchApproximately(held, pivots, vector, K, lists),
      vectors,
    );
  const now = measure(store, probes);
  if (now.length === 0) return null;
  const { mean: value, ciHigh } = summarize(now, 'recall');
  return { before: mean(measure(chunks, PROBES)), value, ciHigh, k: K };
}

/** The density of the live queries of now, and how those that are badly covered relate to what was asked before. */
function observeCoverage(
  { corpus, chunks, baseline, live }: World,
  store: readonly Chunk[],
  canary: 'same' | 'noisy' | 'changed',
): { readonly density: ObservedDensity | null; readonly topics: readonly ObservedTopic[] | null } {
  // Another model freezes the watch over density.
  if (canary === 'changed') return { density: null, topics: null };
  const vectorsOf = (questions: readonly Question[]): Float32Array[] =>
    questions.map(({ text }) => corpus.embedder.embed(text));
  const [asked, asking] = [vectorsOf(baseline), vectorsOf(live)];
  const scores = asked.map((vector) => scoreOf(chunks, vector));
  const against = baselineScores(
    scores,
    scores.map(() => NO_REGION),
    0,
  );
  const percentiles = asking.map((vector) => percentile(scoreOf(store, vector), NO_REGION, against));
  const value = densityOf(mean(percentiles.map(surpriseOf)));
  const { low, high } = densityInterval(value, live.length, 1);
  const hasFallen = high < 0.95;
  const tail = asking.filter((_, index) => (percentiles[index] ?? 1) <= 0.05);
  const usual = asked
    .slice(0, FAMILIAR)
    .map((vector) =>
      familiarity(
        vector,
        asked.filter((other) => other !== vector),
      ),
    )
    .toSorted((a, b) => a - b);
  const novelBelow = usual[Math.floor(0.05 * usual.length)] ?? 0;
  const share = uncoveredShareOf(tail.length / live.length, live.length, 0.05);
  const cause =
    tail.length === 0
      ? null
      : topicCause(
          tail.map((vector) => familiarity(vector, asked)),
          novelBelow,
        );
  const reading = readCause({
    densityFell: hasFallen,
    trafficChanged: cause === 'new_demand',
    goldenFell: null,
    chunksMissing: null,
    canary,
  });
  const questions = reading.cause === 'content_gap' ? 'new' : reading.cause === 'lost_content' ? 'same' : null;
  return {
    density: { value, ciLow: low, ciHigh: high, hasFallen, questions },
    topics: cause === null || share.excessLow < 0.01 ? [] : [{ id: 't-1', trafficShare: share.share, cause }],
  };
}

function scoreOf(held: readonly Chunk[], vector: Float32Array): number {
  const found = search(held, vector, 5).map(({ id, similarity }) => ({ content: id, similarity }));
  return coverageScore(found, 5) ?? Number.NaN;
}

/** Mean cosine to the 10 nearest. */
function familiarity(vector: Float32Array, others: readonly Float32Array[]): number {
  const cosines = others.map((other) => dot(vector, other)).toSorted((a, b) => b - a);
  return mean(cosines.slice(0, 10));
}

function latency95(answers: readonly QueryAnswer[]): number | null {
  const answered = answers
    .flatMap(({ outcome, latencyMs }) => (outcome === 'ok' || outcome === 'empty' ? (latencyMs ?? []) : []))
    .toSorted((a, b) => a - b);
  return answered[Math.floor(0.95 * answered.length)] ?? null;
}

function annotated(kind: DeploymentKind, version: string): Deployment {
  const occurredAt = new Date('2026-11-20T12:00:00Z');
  return {
    id: '1',
    pipeline: 'demo',
    kind,
    version,
    note: null,
    occurredAt,
    source: 'annotated',
    changes: [],
  };
}
