/** Reads the records of Chroma's answers, which come as one list for each of their parts. */
import { at, fieldsOf, listOf, numberOf, textOf, vectorOf } from '../../outbound/json-value.ts';
import type { Hit } from '../neighbours.ts';

export interface ChromaRecord {
  readonly id: string;
  readonly vector: Float32Array | null;
  readonly document: string | null;
}

/** The answer to a get; null when it is none. */
export function readRecords(answer: unknown): ChromaRecord[] | null {
  const { ids, embeddings, documents } = fieldsOf(answer);
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) return null;
  return ids.map((id, place) => ({
    id,
    vector: vectorOf(at(embeddings, place)),
    document: textOf(at(documents, place)),
  }));
}

/** The answer to a query with one vector, whose parts have a list for each vector; null when it is none. */
export function readHits(answer: unknown): Hit[] | null {
  const [ids, embeddings, documents, distances] = ['ids', 'embeddings', 'documents', 'distances'].map(
    (part) => at(answer, part, 0),
  );
  const hits = readRecords({ ids, embeddings, documents })?.flatMap(({ id, vector, document }, place) => {
    const score = numberOf(at(distances, place));
    return score === null ? [] : [{ id, score, vector, content: document }];
  });
  return hits === undefined || hits.length < listOf(ids).length ? null : hits;
}
