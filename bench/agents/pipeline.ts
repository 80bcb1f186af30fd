/** Golden runs of the simulated pipeline, and the observations that its diagnosis uses. */
import type { GoldenQuery } from '../../src/core/model.ts';
import { chooseDroppedIds } from '../../src/demo/rag/fault.ts';
import type { ComparedSide } from '../../src/golden/rules/compare-golden-runs.ts';
import { type DocumentFate, judgedDocuments, probeLabels } from '../../src/golden/rules/labels.ts';
import type { QueryAnswer } from '../../src/golden/rules/run.ts';
import type { EffectKind } from '../../src/incidents/diagnosis/rules/effects.ts';
import { type Observations, type ObservedRun, observedRun } from '../../src/incidents/diagnosis/rules/observations.ts';
import type { ObservedLive } from '../../src/incidents/diagnosis/rules/observed-live.ts';
import { nothingLive } from '../../test/support/nothing-live.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { AgentFault } from './agent.ts';
import { type Library, SOURCES } from './library.ts';

const GOLDEN = 100;
const K = 10;
const LATENCY_MS = 40;
/** Largest drop below the baseline score at which a check still passes. */
const SLACK = 0.05;

const settings = {
  cutoffs: [K],
  relevanceLevel: 1,
  concurrency: 4,
  maxPerSecond: 1000,
  onError: 'score_zero' as const,
  errorBudget: 0.05,
  segmentKeys: [],
  maxSegments: 50,
};

export interface GoldenRunSeen {
  readonly run: ObservedRun;
  /** Kinds of effects that the failing golden checks indicate. */
  readonly firing: readonly EffectKind[];
}

/** Runs the golden set against the retriever. Retriever faults affect the run; agent faults do not. */
export function goldenRun(
  library: Library,
  fault: AgentFault,
  hasStore: boolean,
  random: RandomNumbers,
): GoldenRunSeen {
  const places = Array.from({ length: GOLDEN }, (_, at) => Math.floor((at * library.questions.length) / GOLDEN));
  const queries = places.map((place): GoldenQuery => {
    const { id, texts, document } = library.questions[place] as (typeof library.questions)[number];
    return {
      id,
      text: texts[0] ?? '',
      tags: {},
      judgments: [{ documentId: library.documentIds[document] ?? '', grade: 1 }],
    };
  });
  const side = (retriever: NonNullable<AgentFault['retriever']>, failing: number): ComparedSide => ({
    queries,
    settings,
    answers: places.map((place, at): QueryAnswer => {
      const queryId = queries[at]?.id ?? '';
      const base = {
        queryId,
        latencyMs: LATENCY_MS * Math.exp(0.3 * random.normal()),
        attempts: 1,
        errorMessage: null,
      };
      if (random.uniform() < failing) return { ...base, outcome: 'error', documents: [], errorCode: 'http_500' };
      const documents = library
        .found(retriever, place, 0, SOURCES)
        .map((document) => ({ id: library.documentIds[document] ?? '', score: null }));
      return { ...base, outcome: documents.length === 0 ? 'empty' : 'ok', documents, errorCode: null };
    }),
  });
  const [reference, previous, now] = [
    side('healthy', 0),
    side(fault.retriever ?? 'healthy', fault.failing ?? 0),
    side(fault.retriever ?? 'healthy', fault.failing ?? 0),
  ];
  const held = new Set(library.documentIds);
  if (fault.retriever === 'third_lost') for (const id of chooseDroppedIds(library.documentIds)) held.delete(id);
  const judged = judgedDocuments(queries);
  const fates = new Map<string, DocumentFate>(judged.map((id) => [id, 'lost']));
  const probe = probeLabels(queries, held, 1, fates);
  const labels = hasStore && probe.kind === 'probed' ? probe : null;
  const run = observedRun({
    goldenSet: 'golden',
    now,
    labels: labels === null ? null : { probed: judged.length, stale: labels.stale, deleted: 0, lost: labels.lost },
    forbidden: null,
    stale: labels?.touched ?? new Set(),
    lost: new Set(labels?.labels.flatMap(({ fate, queryId }) => (fate === 'lost' ? [queryId] : []))),
    key: { measure: 'ndcg', k: K },
    level: null,
    reference: {
      side: reference,
      version: 1,
      isSameVersion: true,
      labels: labels === null ? null : { probed: judged.length, stale: 0, deleted: 0, lost: 0 },
      stages: null,
      contexts: { before: [], now: [] },
    },
    previous: fault.retriever === undefined && fault.failing === undefined ? null : previous,
    older: [],
    live: [],
  });
  const loss = run.reference?.loss ?? null;
  const { error, timeout } = run.outcomes;
  return {
    run,
    firing: [
      ...(loss !== null && loss.now < loss.before - SLACK ? (['score'] as const) : []),
      ...(error + timeout > 0.05 * GOLDEN ? (['failures'] as const) : []),
      ...(labels !== null && labels.lost > 0.02 * judged.length ? (['labels'] as const) : []),
    ],
  };
}

export interface SeenNow {
  readonly firing: readonly EffectKind[];
  readonly golden: GoldenRunSeen;
  readonly live: Partial<ObservedLive>;
  readonly hasStore: boolean;
  readonly isLost: boolean;
  readonly failing: number;
  readonly calls: number;
}

export function observationsOf({ firing, golden, live, hasStore, isLost, failing, calls }: SeenNow): Observations {
  return {
    firing,
    onset: null,
    samples: {},
    run: golden.run,
    live: {
      ...nothingLive,
      errors: {
        value: failing,
        ciLow: Math.max(0, failing - 0.02),
        ciHigh: Math.min(1, failing + 0.02),
        n: calls,
        before: 0.002,
      },
      empty: { value: 0.002, ciLow: 0, ciHigh: 0.004, n: calls, before: 0.002 },
      ...live,
    },
    relevance: null,
    judge: null,
    store: hasStore ? { before: 240, now: isLost ? 160 : 240 } : null,
    annRecall: null,
    storeAgreement: null,
    missedVectors: null,
    returnedAbsent: null,
    liveReplay: null,
    wordEffects: null,
    missedTexts: null,
    canary: null,
    index: [],
    arrivals: null,
    deployments: [],
    isolation: null,
    density: null,
    topics: null,
    sentinel: null,
    ownWork: { kind: 'done' },
  };
}
