/** Hits of a store -> neighbours in the one scale of the port. */
import { cosineOfScore, cosineSimilarity } from '../vector/matrix.ts';
import type { Nearest, NearestRequest, Neighbour, ScoreKind } from './vector-store.ts';

export interface Hit {
  readonly id: string;
  readonly score: number;
  /** Needed where the score says nothing about the angle. */
  readonly vector: Float32Array | null;
  readonly content: string | null;
}

/** Whether hits must come with their vectors, since the score is no cosine. */
export function needsVectors(kind: ScoreKind): boolean {
  return kind !== 'cosine' && kind !== 'cosine_distance' && kind !== 'shifted_cosine';
}

/**
 * @param hits best first, as the store ordered them
 * @returns null when a hit lacks the vector that its similarity must be computed from
 */
export function toNearest(
  hits: readonly Hit[],
  scoreKind: ScoreKind,
  request: NearestRequest,
): Nearest | null {
  const neighbours: Neighbour[] = [];
  for (const { id, score, vector, content } of hits) {
    const similarity = similarityOf(score, vector, scoreKind, request.vector);
    if (similarity === null) return null;
    neighbours.push({ id, similarity, score, scoreKind, content: request.withContent ? content : null });
  }
  return { neighbours, isShort: neighbours.length < request.k };
}

function similarityOf(
  score: number,
  vector: Float32Array | null,
  kind: ScoreKind,
  query: Float32Array,
): number | null {
  if (kind === 'cosine' || kind === 'cosine_distance' || kind === 'shifted_cosine') {
    return cosineOfScore(score, kind);
  }
  return vector?.length === query.length ? cosineSimilarity(query, vector) : null;
}
