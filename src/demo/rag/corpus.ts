/** The texts of the demo, with precomputed vectors from a neural sentence encoder (`bench/demo-vectors.ts`). */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RecalldError } from '../../core/errors.ts';
import { dotProduct } from '../../math/vector/matrix.ts';
import { normalize, type TextEmbedder } from './hashed-tfidf.ts';

export interface DemoDocument {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** A question about the corpus; its judgments are in `qrels.tsv`. */
export interface DemoQuestion {
  readonly id: string;
  readonly text: string;
}

/** Folder of the data in BEIR layout. The folder is in src/ even if this file runs from dist/. */
export const demoDataPath = join(import.meta.dirname, '../../../src/demo/data/xquad-en');

/** Reads the 240 passages in file order. @throws RecalldError file_unreadable */
export async function readDemoDocuments(): Promise<DemoDocument[]> {
  return (await readDemoRows('corpus.jsonl')).map(({ _id: id, title, text }) => ({ id, title, text }));
}

/** Reads the 1,190 questions in file order. @throws RecalldError file_unreadable */
export async function readDemoQuestions(): Promise<DemoQuestion[]> {
  return (await readDemoRows('queries.jsonl')).map(({ _id: id, text }) => ({ id, text }));
}

/** Reads the id of the document that answers each question. @throws RecalldError file_unreadable */
export async function readDemoAnswers(): Promise<ReadonlyMap<string, string>> {
  const [, ...rows] = await readDemoLines('qrels.tsv');
  return new Map(rows.map((row) => row.split('\t')).map(([question = '', document = '']) => [question, document]));
}

/** The files are part of the package, so their rows are not validated. */
async function readDemoRows(name: string) {
  return (await readDemoLines(name)).map((row) => JSON.parse(row) as { _id: string; title: string; text: string });
}

async function readDemoLines(name: string): Promise<string[]> {
  return (await readDemoFile(join(demoDataPath, name))).toString('utf8').trimEnd().split('\n');
}

export function readDemoFile(path: string): Promise<Buffer> {
  return readFile(path).catch((cause: unknown) => {
    throw new RecalldError('file_unreadable', `The demo data file ${path} cannot be read; reinstall recalld.`, {
      cause,
    });
  });
}

export const SENTENCE_MODEL = 'universal-sentence-encoder-lite';
export const SENTENCE_DIMENSIONS = 128;

/** File of consecutive entries, each with the key of a text and one signed byte per dimension. */
export const sentenceVectorsFile = join(
  import.meta.dirname,
  '../../../src/demo/data/sentence-vectors/universal-sentence-encoder-lite.bin',
);

const KEY_BYTES = 8;
const ENTRY_BYTES = KEY_BYTES + SENTENCE_DIMENSIONS;

/** Returns the unit vector of a text; null for unknown texts. */
type SentenceVectors = (text: string) => Float32Array | null;

/** @throws RecalldError file_unreadable */
export async function readSentenceVectors(): Promise<SentenceVectors> {
  const bytes = await readDemoFile(sentenceVectorsFile);
  const vectors = new Map<string, Float32Array>();
  for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
    const packed = new Int8Array(bytes.buffer, bytes.byteOffset + at + KEY_BYTES, SENTENCE_DIMENSIONS);
    vectors.set(bytes.toString('hex', at, at + KEY_BYTES), normalize(packed));
  }
  return (text) => vectors.get(vectorKey(text)) ?? null;
}

/** Returns the key of a text in the vector file, in hexadecimal digits. */
export function vectorKey(text: string): string {
  return createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, 2 * KEY_BYTES);
}

/** Number of known texts whose vectors are averaged for an unknown text. */
const NEIGHBORS = 8;

/**
 * An embedder with precomputed vectors. For a text without a precomputed vector, such as a query that a user typed, the
 * embedder averages the vectors of the eight known texts with the most similar words, each weighted by the square of
 * its word similarity. The result is the zero vector if no known text shares a word with the query.
 *
 * @param texts all texts for which `vectors` has a vector
 * @param words embedder whose vectors determine how similar the words of two texts are
 */
export function sentenceEmbedder(
  vectors: SentenceVectors,
  texts: readonly string[],
  words: TextEmbedder,
): TextEmbedder {
  let known: readonly { readonly vector: Float32Array; readonly words: Float32Array }[] | null = null;
  const standIn = (text: string): Float32Array => {
    known ??= texts.map((one) => ({ vector: vectorOf(one), words: words.embed(one) }));
    const query = words.embed(text);
    const sum = new Float64Array(SENTENCE_DIMENSIONS);
    const neighbors = known
      .map((one) => ({ ...one, similarity: dotProduct(query, one.words) }))
      .toSorted((a, b) => b.similarity - a.similarity)
      .slice(0, NEIGHBORS);
    for (const { vector, similarity } of neighbors) {
      const weight = Math.max(0, similarity) ** 2;
      for (const [at, value] of vector.entries()) sum[at] = (sum[at] ?? 0) + weight * value;
    }
    return normalize(sum);
  };
  const vectorOf = (text: string): Float32Array => vectors(text) ?? new Float32Array(SENTENCE_DIMENSIONS);
  return { dimensions: SENTENCE_DIMENSIONS, embed: (text) => vectors(text) ?? standIn(text) };
}
