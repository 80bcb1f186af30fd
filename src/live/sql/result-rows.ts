/** Encodes and decodes a live query's documents, which are stored in a JSON column. */
import type { RetrievedDocument } from '../../core/model.ts';

export function rowOfDocument({ id, score, fields }: RetrievedDocument): ResultRow {
  return fields === undefined ? [id, score] : [id, score, fields];
}

export function resultsJson(results: readonly RetrievedDocument[]): string {
  return JSON.stringify(results.map(rowOfDocument));
}

export type ResultRow = readonly [string, number | null, RetrievedDocument['fields']?];

export function documentOfRow([id, score, fields]: ResultRow): RetrievedDocument {
  return fields === undefined ? { id, score } : { id, score, fields };
}
