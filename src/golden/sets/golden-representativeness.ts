/** How well a golden set stands for the live traffic of a pipeline. */

import { embedTexts } from '../../embedders/embedder.ts';
import type { DrawnSample, LiveSamples } from '../../live/sql/live-samples.ts';
import type { GoldenQuery } from '../../model.ts';
import type { ProbedPipeline } from '../../probes/probes.ts';
import { matrixOf } from '../../vector/matrix.ts';
import { measureRepresentativeness, type Representativeness } from '../rules/representativeness.ts';

export interface LiveMix extends Representativeness {
  readonly kind: 'measured';
  readonly queries: number;
  /** The sampled live queries; topics name them by their index. */
  readonly live: readonly DrawnSample[];
}

export type RepresentativenessOutcome = LiveMix | UnknownMix;

/** A word out of few, and a sentence. */
export interface UnknownMix {
  readonly kind: 'unknown';
  readonly reason: 'no_embedder' | 'no_vectors' | 'embedder_failed';
  readonly message: string;
}

/** Most live queries that are looked at; they are drawn at random. */
const LIVE_QUERIES = 2000;
/** A larger set is not embedded: that would cost more than it tells. */
const GOLDEN_QUERIES = 2000;

/** Never fails but by `signal` and by the database. */
export async function liveMixOf(
  samples: LiveSamples,
  { name, embedder }: Pick<ProbedPipeline, 'name' | 'embedder'>,
  queries: readonly GoldenQuery[],
  since: Date,
  signal: AbortSignal,
): Promise<RepresentativenessOutcome> {
  if (embedder === null) return unknown('no_embedder', 'The config names no embedder for golden queries.');
  if (queries.length > GOLDEN_QUERIES) {
    return unknown(
      'no_vectors',
      `The set has more than ${GOLDEN_QUERIES} queries, which are not embedded for this.`,
    );
  }
  const drawn = await samples.draw({ pipeline: name, since, limit: LIVE_QUERIES });
  const golden = await embedTexts(
    embedder,
    queries.map(({ text }) => text),
    signal,
  );
  if (golden.kind === 'unknown') return unknown('embedder_failed', golden.reason);
  const dimensions = golden.vectors[0]?.length ?? 0;
  const live = await withVectors(drawn, embedder, dimensions, signal);
  if (live.length === 0) {
    return unknown('no_vectors', 'No live query has a vector of the embedder, or a text to make one from.');
  }
  const result = measureRepresentativeness({
    live: live.map(({ sample }) => ({ probability: sample.probability, cluster: sample.sessionHash })),
    liveVectors: matrixOf(live.map(({ vector }) => vector)),
    goldenVectors: matrixOf(golden.vectors),
  });
  return { kind: 'measured', ...result, queries: queries.length, live: live.map(({ sample }) => sample) };
}

interface WithVector {
  readonly sample: DrawnSample;
  readonly vector: Float32Array;
}

/** The vectors that came with live queries, if they are of the length of ours; the others are made from texts. */
async function withVectors(
  drawn: readonly DrawnSample[],
  embedder: ProbedPipeline['embedder'],
  dimensions: number,
  signal: AbortSignal,
): Promise<WithVector[]> {
  const sent = drawn.flatMap((sample) =>
    sample.embedding?.length === dimensions ? [{ sample, vector: sample.embedding }] : [],
  );
  const rest = drawn.filter(({ embedding, text }) => embedding?.length !== dimensions && text !== null);
  const made = await embedTexts(
    embedder,
    rest.map(({ text }) => text ?? ''),
    signal,
  );
  if (made.kind === 'unknown') return sent;
  return [
    ...sent,
    ...rest.flatMap((sample, index) => {
      const vector = made.vectors[index];
      return vector === undefined ? [] : [{ sample, vector }];
    }),
  ];
}

function unknown(reason: UnknownMix['reason'], message: string): UnknownMix {
  return { kind: 'unknown', reason, message };
}
