/**
 * Uses a neural sentence encoder to compute the vectors that ship with the demo: one for each text that the demo
 * embeds.
 *
 *     npx tsx bench/demo-vectors.ts
 *
 * The encoder's 512 dimensions are reduced to the 128 dimensions in which the demo texts differ most, and each number
 * is stored as one byte; `src/demo/data/sentence-vectors/README.md` describes the effect on nDCG@10.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  readDemoDocuments,
  readDemoQuestions,
  SENTENCE_DIMENSIONS,
  sentenceVectorsFile,
  vectorKey,
} from '../src/demo/rag/corpus.ts';
import { cutInTwo } from '../src/demo/rag/fault.ts';
import { canaryTexts } from '../src/density/rules/measurement-change.ts';
import { dotProduct, rowOf } from '../src/math/vector/matrix.ts';
import { encode } from './density/dense-encoder.ts';
import { mainDirections } from './density/main-directions.ts';

const [documents, questions] = await Promise.all([readDemoDocuments(), readDemoQuestions()]);
const texts = [
  ...documents.map(({ text }) => text),
  ...documents.flatMap(cutInTwo).map(({ text }) => text),
  ...questions.map(({ text }) => text),
  ...canaryTexts,
];
const vectors = await encode(texts);
const directions = mainDirections(vectors, SENTENCE_DIMENSIONS);
const packed = packSentenceVectors(texts, (row) =>
  directions.map((direction) => dotProduct(direction, rowOf(vectors, row))),
);
mkdirSync(path.dirname(sentenceVectorsFile), { recursive: true });
writeFileSync(sentenceVectorsFile, packed);
process.stdout.write(`${sentenceVectorsFile}: ${packed.length} bytes\n`);

/**
 * Packs vectors, each scaled so that its largest absolute component is 127. The norms of the vectors are meaningless
 * and therefore not stored.
 */
function packSentenceVectors(texts: readonly string[], vectorOf: (row: number) => ArrayLike<number>): Buffer {
  const entries = [...new Map(texts.map((text, row) => [vectorKey(text), row]))];
  return Buffer.concat(
    entries.map(([key, row]) => {
      const vector = Float64Array.from(vectorOf(row));
      const maximum = Math.max(...vector.map(Math.abs));
      return Buffer.concat([
        Buffer.from(key, 'hex'),
        Buffer.from(Int8Array.from(vector, (value) => Math.round((127 * value) / maximum)).buffer),
      ]);
    }),
  );
}
