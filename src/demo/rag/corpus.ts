/** The texts of the demo, with the vectors of a neural sentence encoder, computed ahead (`bench/demo-vectors.ts`). */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RecalldError } from '../../core/errors.ts';
import { dotProduct, lengthOf } from '../../math/vector/matrix.ts';
import type { TextEmbedder } from './hashed-tfidf.ts';

/** One passage of the demo's corpus. */
export interface DemoDocument {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** One question of the demo's golden set; its judgments are in `qrels.tsv`. */
export interface DemoQuestion {
  readonly id: string;
  readonly text: string;
}

/**
 * The folder of the demo's data in BEIR layout: corpus.jsonl, queries.jsonl, qrels.tsv. The data are not compiled,
 * so the path leads to src/ from src/demo/rag and from dist/demo/rag alike.
 */
export const demoDataPath = join(import.meta.dirname, '../../../src/demo/data/xquad-en');

/** The 240 passages in the order of the file. @throws RecalldError file_unreadable */
export async function readDemoDocuments(): Promise<DemoDocument[]> {
  const rows = await readDemoLines('corpus.jsonl');
  return rows.map((row) => JSON.parse(row) as BeirRow).map(({ _id: id, title, text }) => ({ id, title, text }));
}

/** The 1,190 questions in the order of the file. @throws RecalldError file_unreadable */
export async function readDemoQuestions(): Promise<DemoQuestion[]> {
  const rows = await readDemoLines('queries.jsonl');
  return rows.map((row) => JSON.parse(row) as BeirRow).map(({ _id: id, text }) => ({ id, text }));
}

/** Which document each question has its answer in, by the id of the question. @throws RecalldError file_unreadable */
export async function readDemoAnswers(): Promise<ReadonlyMap<string, string>> {
  const [, ...rows] = await readDemoLines('qrels.tsv');
  return new Map(rows.map((row) => row.split('\t')).map(([question = '', document = '']) => [question, document]));
}

/** The file is of the package, so that its rows are as they were written. */
interface BeirRow {
  readonly _id: string;
  readonly title: string;
  readonly text: string;
}

async function readDemoLines(name: string): Promise<string[]> {
  return (await readDemoFile(join(demoDataPath, name))).toString('utf8').trimEnd().split('\n');
}

function readDemoFile(path: string): Promise<Buffer> {
  return readFile(path).catch((cause: unknown) => {
    throw new RecalldError('file_unreadable', `The demo data file ${path} cannot be read; reinstall recalld.`, {
      cause,
    });
  });
}

export const SENTENCE_MODEL = 'universal-sentence-encoder-lite';
export const SENTENCE_DIMENSIONS = 128;

/** Entries one after the other: the key of a text, then a signed byte for each dimension. */
export const sentenceVectorsFile = join(
  import.meta.dirname,
  '../../../src/demo/data/sentence-vectors/universal-sentence-encoder-lite.bin',
);

const KEY_BYTES = 8;
const ENTRY_BYTES = KEY_BYTES + SENTENCE_DIMENSIONS;

/** The greatest component becomes 127. What is lost is the length, which says nothing. */
export function packSentenceVectors(texts: readonly string[], vectorOf: (row: number) => ArrayLike<number>): Buffer {
  const entries = [...new Map(texts.map((text, row) => [keyOf(text), row]))];
  return Buffer.concat(
    entries.map(([key, row]) => {
      const vector = Float64Array.from(vectorOf(row));
      const greatest = Math.max(...vector.map(Math.abs));
      return Buffer.concat([
        Buffer.from(key, 'hex'),
        Buffer.from(Int8Array.from(vector, (value) => Math.round((127 * value) / greatest)).buffer),
      ]);
    }),
  );
}

/** Vectors of length 1, by text. */
type SentenceVectors = (text: string) => Float32Array | null;

/** @throws RecalldError file_unreadable */
export async function readSentenceVectors(): Promise<SentenceVectors> {
  const bytes = await readDemoFile(sentenceVectorsFile);
  const vectors = new Map<string, Float32Array>();
  for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
    const packed = new Int8Array(bytes.buffer, bytes.byteOffset + at + KEY_BYTES, SENTENCE_DIMENSIONS);
    vectors.set(bytes.toString('hex', at, at + KEY_BYTES), ofLengthOne(packed));
  }
  return (text) => vectors.get(keyOf(text)) ?? null;
}

function keyOf(text: string): string {
  return createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, 2 * KEY_BYTES);
}

/** Texts whose vectors stand for that of an unknown one. */
const LIKENESSES = 8;

/**
 * The encoder as far as its vectors reach. A text that it has no vector for, which is one that somebody typed, gets the
 * mean of the vectors of the eight texts that are most like it by their words, weighted by the square of that likeness;
 * the zero vector when none shares a word with it.
 *
 * @param texts that have vectors, among which unknown ones find their like
 * @param words by which texts are alike
 */
export function sentenceEmbedder(
  vectors: SentenceVectors,
  texts: readonly string[],
  words: TextEmbedder,
): TextEmbedder {
  let known: readonly { readonly vector: Float32Array; readonly words: Float32Array }[] | null = null;
  const standIn = (text: string): Float32Array => {
    known ??= texts.map((one) => ({ vector: vectorOf(one), words: words.embed(one) }));
    const asked = words.embed(text);
    const sum = new Float64Array(SENTENCE_DIMENSIONS);
    const likest = known
      .map((one) => ({ ...one, likeness: dotProduct(asked, one.words) }))
      .toSorted((a, b) => b.likeness - a.likeness)
      .slice(0, LIKENESSES);
    for (const { vector, likeness } of likest) {
      const weight = Math.max(0, likeness) ** 2;
      for (const [at, value] of vector.entries()) sum[at] = (sum[at] ?? 0) + weight * value;
    }
    return ofLengthOne(sum);
  };
  const vectorOf = (text: string): Float32Array => vectors(text) ?? new Float32Array(SENTENCE_DIMENSIONS);
  return { dimensions: SENTENCE_DIMENSIONS, embed: (text) => vectors(text) ?? standIn(text) };
}

/** The zero vector stays as it is. */
function ofLengthOne(vector: ArrayLike<number>): Float32Array {
  const length = lengthOf(vector);
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}
