/** Builders of live traffic rows with defaults, so that each test specifies only the values that it needs. */
import type { StoredFeedback } from '../../src/live/sql/feedback-rows.ts';
import type { LiveSample } from '../../src/live/sql/record-arrivals.ts';
import type { BufferedFragment } from '../../src/live/sql/trace-fragments.ts';
import { NOON } from './builders.ts';

export const TRACE = '5b8efff798038103d269b633813fc60c';

/** The id of a live query, or of any span in a trace: `queryOf(TRACE, 1)` is the id of span 1. */
export const queryOf = (traceId: string, span: number) => `${traceId}-${spanOf(span)}`;

const spanOf = (span: number) => span.toString(16).padStart(16, '0');

/** The query in span 1 of the trace, sampled at a rate of 1/2. */
export function aSample(parts: Partial<LiveSample> = {}): LiveSample {
  return {
    pipeline: 'docs',
    id: queryOf(TRACE, 1),
    receivedAt: NOON,
    occurredAt: NOON,
    sessionHash: 'hash of the trace',
    traceId: TRACE,
    episode: null,
    episodeStep: null,
    originalText: null,
    text: 'how do I pay',
    textHash: null,
    embedding: null,
    topK: 3,
    context: null,
    outcome: 'ok',
    error: null,
    results: [
      { id: 'a', score: 0.9 },
      { id: 'b', score: 0.8 },
      { id: 'c', score: 0.7 },
    ],
    latencyMs: 12,
    stages: [],
    segments: {},
    userHash: null,
    indexVersion: null,
    embedderVersion: null,
    retrieverVersion: null,
    probability: 0.5,
    keepReason: 'rate',
    unitHash: 0.01,
    rateProbability: 0.5,
    level: 0,
    ...parts,
  };
}

/** A thumb up. */
export function aStoredFeedback(parts: Partial<StoredFeedback> = {}): StoredFeedback {
  return {
    id: 'f1',
    pipeline: 'docs',
    queryId: queryOf(TRACE, 1),
    kind: 'thumb',
    documentId: null,
    rank: null,
    receivedAt: NOON,
    occurredAt: NOON,
    sentiment: 'positive',
    value: 1,
    userHash: null,
    comment: null,
    counted: true,
    traceId: null,
    mayRepeat: false,
    ...parts,
  };
}

const nothing = {
  part: 0,
  receivedAt: NOON,
  pipeline: 'docs',
  within: null,
  text: null,
  textHash: null,
  embedding: null,
  embedderVersion: null,
  topK: null,
  latencyMs: null,
  results: null,
  sessionHash: null,
  traceHash: null,
  userHash: null,
  scope: null,
  startedAtUnixNano: null,
};

/** Fragment from span 2 of the trace: the vector of `aSample`'s text. */
export function anEmbeddingFragment(parts: Partial<BufferedFragment> = {}): BufferedFragment {
  return {
    ...nothing,
    kind: 'embedding',
    traceId: TRACE,
    spanId: spanOf(2),
    endedAtUnixNano: 2n,
    text: 'how do I pay',
    embedding: Float32Array.of(0.6, 0.8),
    embedderVersion: 'bge-m3',
    ...parts,
  };
}

/** Fragment from span 3 of the trace: a reranked order of `aSample`'s documents. */
export function aRerankFragment(order: readonly string[], parts: Partial<BufferedFragment> = {}): BufferedFragment {
  return {
    ...nothing,
    kind: 'rerank',
    traceId: TRACE,
    spanId: spanOf(3),
    endedAtUnixNano: 3n,
    results: order.map((id, rank) => ({ id, score: 10 - rank })),
    topK: order.length,
    ...parts,
  };
}

/** Fragment from span 5 of the trace: an agent that ran for a second around noon. */
export function anEpisodeFragment(parts: Partial<BufferedFragment> = {}): BufferedFragment {
  const startedAtUnixNano = BigInt(NOON.getTime() - 500) * 1_000_000n;
  return {
    ...nothing,
    kind: 'episode',
    traceId: TRACE,
    spanId: spanOf(5),
    scope: 'agent',
    startedAtUnixNano,
    endedAtUnixNano: startedAtUnixNano + 1_000_000_000n,
    text: 'my parcel is late',
    ...parts,
  };
}

/** Fragment from span 4 of the trace, which contains the session and the user. */
export function aPersonFragment(parts: Partial<BufferedFragment> = {}): BufferedFragment {
  return {
    ...nothing,
    kind: 'person',
    traceId: TRACE,
    spanId: spanOf(4),
    endedAtUnixNano: 4n,
    sessionHash: 'hash of the session',
    traceHash: 'hash of the trace',
    userHash: 'hash of ann',
    ...parts,
  };
}
