/** The demo's corpus, questions and embedder in memory, as a pipeline whose every part can be broken. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { demoDataPath, readDemoDocuments, readDemoQuestions } from '../../src/demo/rag/corpus.ts';
import {
  fitInverseDocumentFrequencies,
  hashedTfidfEmbedder,
  type InverseDocumentFrequencies,
  type TextEmbedder,
} from '../../src/demo/rag/embedder.ts';
import type { GoldenQuery } from '../../src/model.ts';
import { drawn } from '../../src/stats/random.ts';
import { neighbourRecall, type RankedSimilarity } from '../../src/vector/nearest-neighbours.ts';

export interface Chunk {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly vector: Float32Array;
}

export interface Question extends GoldenQuery {
  readonly title: string;
}

export interface Corpus {
  readonly chunks: readonly Chunk[];
  readonly questions: readonly Question[];
  readonly embedder: TextEmbedder;
  readonly fitted: InverseDocumentFrequencies;
}

const DIMENSIONS = 512;

export async function loadCorpus(): Promise<Corpus> {
  const [documents, questions] = await Promise.all([readDemoDocuments(), readDemoQuestions()]);
  const fitted = fitInverseDocumentFrequencies(documents.map(({ text }) => text));
  const embedder = embedderOf(fitted, 0);
  const chunks = documents.map((document) => ({ ...document, vector: embedder.embed(document.text) }));
  const titleOf = new Map(documents.map(({ id, title }) => [id, title]));
  const rows = readFileSync(path.join(demoDataPath, 'qrels.tsv'), 'utf8').trim().split('\n').slice(1);
  const answers = new Map(rows.map((row) => row.split('\t').slice(0, 2) as [string, string]));
  return {
    chunks,
    embedder,
    fitted,
    questions: questions.map(({ id, text }) => {
      const documentId = answers.get(id) ?? '';
      const title = titleOf.get(documentId) ?? '';
      return { id, text, title, tags: {}, judgments: [{ documentId, grade: 1 }] };
    }),
  };
}

/** Seeds other than 0 are other models: their vectors cannot be compared. */
export function embedderOf(fitted: InverseDocumentFrequencies, seed: number): TextEmbedder {
  const embedder = hashedTfidfEmbedder(fitted, { dimensions: DIMENSIONS, seed });
  const known = new Map<string, Float32Array>();
  const embed = (text: string): Float32Array => {
    const vector = known.get(text) ?? embedder.embed(text);
    known.set(text, vector);
    return vector;
  };
  return { dimensions: DIMENSIONS, embed };
}

/** Exact nearest neighbours by cosine, ties by id. */
export function search(chunks: readonly Chunk[], vector: Float32Array, k: number): readonly RankedSimilarity[] {
  return chunks
    .map(({ id, vector: other }) => ({ id, similarity: dot(vector, other) }))
    .toSorted((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
    .slice(0, k);
}

/** An inverted-file index: chunks by the nearest of some pivots, of which a search looks into `probes`. */
export function searchApproximately(
  chunks: readonly Chunk[],
  pivots: readonly Float32Array[],
  vector: Float32Array,
  k: number,
  probes: number,
): readonly RankedSimilarity[] {
  const near = pivots
    .map((pivot, list) => ({ list, similarity: dot(pivot, vector) }))
    .toSorted((a, b) => b.similarity - a.similarity)
    .slice(0, probes);
  const lists = new Set(near.map(({ list }) => list));
  return search(
    chunks.filter((chunk) => lists.has(nearestPivot(pivots, chunk.vector))),
    vector,
    k,
  );
}

export function drawPivots(chunks: readonly Chunk[], count: number, seed: number): Float32Array[] {
  return drawn(chunks, count, seed).map(({ vector }) => vector);
}

/** Mean recall of the index at 10, as the probe measures it, over some texts. */
export function recallOf(
  exact: (vector: Float32Array) => readonly RankedSimilarity[],
  approximate: (vector: Float32Array) => readonly RankedSimilarity[],
  vectors: readonly Float32Array[],
): number[] {
  return vectors.flatMap((vector) => neighbourRecall(approximate(vector), exact(vector)) ?? []);
}

const pivotOf = new WeakMap<readonly Float32Array[], Map<Float32Array, number>>();

function nearestPivot(pivots: readonly Float32Array[], vector: Float32Array): number {
  const known = pivotOf.get(pivots) ?? new Map<Float32Array, number>();
  pivotOf.set(pivots, known);
  const found = known.get(vector);
  if (found !== undefined) return found;
  let best = 0;
  let closest = Number.NEGATIVE_INFINITY;
  for (const [list, pivot] of pivots.entries()) {
    const similarity = dot(pivot, vector);
    if (similarity > closest) [best, closest] = [list, similarity];
  }
  known.set(vector, best);
  return best;
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}
