/** Encodes and decodes a live query's documents, which are stored in a JSON column. */
import type { RetrievedDocument } from '../../core/model.ts';

/** Encodes documents for a column: id, score and, if there are any, fields. */
export function resultsJson(results: readonly RetrievedDocument[]): string {
  return JSON.stringify(
    results.map(({ id, score, fields }) => (fields === undefined ? [id, score] : [id, score, fields])),
  );
}

export type ResultRow = readonly [string, number | null, RetrievedDocument['fields']?];

export function documentOfRow([id, score, fields]: ResultRow): RetrievedDocument {
  return fields === undefined ? { id, score } : { id, score, fields };
}
