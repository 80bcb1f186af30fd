import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { demoDataPath, readDemoDocuments, readDemoQuestions } from '../../../src/demo/rag/corpus.ts';
import {
  characterNgrams,
  contentWords,
  fitInverseDocumentFrequencies,
  hashedTfidfEmbedder,
  hashText,
} from '../../../src/demo/rag/hashed-tfidf.ts';

const documents = await readDemoDocuments();
const fitted = fitInverseDocumentFrequencies(documents.map((document) => document.text));
const embedder = hashedTfidfEmbedder(fitted, { dimensions: 512, seed: 0 });

const indexed = documents.map(({ id, text }) => ({ id, vector: embedder.embed(text) }));

function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

/** Similarity of the passage nearest to a question. */
function bestSimilarity(text: string): number {
  const question = embedder.embed(text);
  return Math.max(...indexed.map(({ vector }) => cosine(question, vector)));
}

function readJudgment(line: string): [query: string, document: string] {
  const [query = '', document = ''] = line.split('\t');
  return [query, document];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

describe('hashedTfidfEmbedder', () => {
  it('returns vectors of length 1, or the zero vector for a text without content words', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 64 }), (text, dimensions) => {
        const vector = hashedTfidfEmbedder(fitted, { dimensions, seed: 0 }).embed(text);
        const length = Math.hypot(...vector);
        expect(vector).toHaveLength(dimensions);
        // With few dimensions, the signed weights of two features can cancel each other and leave the zero vector.
        expect(length === 0 ? 1 : length).toBeCloseTo(1, 5);
      }),
    );
    expect(embedder.embed('What is it?').every((value) => value === 0)).toBe(true);
  });

  it('ignores case, punctuation and word order', () => {
    const vector = embedder.embed('The Panthers defense gave up 308 points');
    expect(embedder.embed('points (308) up, gave; defense: PANTHERS the')).toEqual(vector);
  });

  it.each([
    ['tackles', 'tackle'],
    ['defended', 'defending'],
    ['cities', 'city'],
    ['Straße', 'straße'],
  ])('treats %j and %j as the same word', (one, other) => {
    expect(cosine(embedder.embed(one), embedder.embed(other))).toBeGreaterThan(0.9);
  });

  it('finds questions about the corpus more similar than questions about other topics', async () => {
    const about = (await readDemoQuestions()).slice(0, 100).map(({ text }) => bestSimilarity(text));
    const elsewhere = [
      'How do I reset my router password?',
      'How often should I water a cactus?',
      'Can I return shoes without a receipt?',
      'Where can I vaccinate my puppy?',
      'How do I knit a scarf?',
    ].map(bestSimilarity);
    expect(mean(about)).toBeGreaterThan(1.5 * mean(elsewhere));
  });

  it('returns unrelated vectors for another seed', () => {
    const other = hashedTfidfEmbedder(fitted, { dimensions: 512, seed: 1 });
    const similarities = documents.map(({ text }) => cosine(embedder.embed(text), other.embed(text)));
    expect(Math.abs(mean(similarities))).toBeLessThan(0.05);
    expect(Math.max(...similarities.map(Math.abs))).toBeLessThan(0.3);
  });

  it('reaches ndcg@10 of about 0.91 on the demo questions', async () => {
    const qrels = readFileSync(join(demoDataPath, 'qrels.tsv'), 'utf8').trimEnd().split('\n').slice(1);
    const relevant = new Map(qrels.map((line) => readJudgment(line)));
    const gains = (await readDemoQuestions()).map(({ id, text }) => {
      const question = embedder.embed(text);
      const ranking = indexed
        .map((document) => ({ id: document.id, score: cosine(question, document.vector) }))
        .toSorted((a, b) => b.score - a.score);
      const rank = ranking.findIndex((document) => document.id === relevant.get(id));
      return rank < 10 ? 1 / Math.log2(rank + 2) : 0;
    });
    expect(gains).toHaveLength(1_190);
    expect(mean(gains)).toBeCloseTo(0.9105, 3);
  });
});

describe('hashText', () => {
  it('returns an unsigned 32-bit integer that depends on text and seed', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer(), (text, seed) => {
        const hash = hashText(text, seed);
        expect(hash).toBe(hash >>> 0);
        expect(hashText(text, seed)).toBe(hash);
      }),
    );
    expect(new Set(['a', 'b', 'ab', 'ba'].flatMap((text) => [hashText(text, 0), hashText(text, 1)])).size).toBe(8);
  });
});

describe('contentWords', () => {
  it.each([
    ['no words of an empty text', '', []],
    ['no words of a text of stop words', 'What was it that they did?', []],
    ['letters and digits of every script, in lower case', 'Ωmega-3 in 東京', ['ωmega', '3', '東京']],
    ['compatibility forms as their plain letters', 'ﬁnal', ['final']],
    ['repetitions, in order', 'war and peace and war', ['war', 'peac', 'war']],
    ['plurals as singulars', 'cities glasses points virus class', ['city', 'glass', 'point', 'virus', 'class']],
    ['verb forms as their stem', 'defending defended defend', ['defend', 'defend', 'defend']],
    ['short words as they are', 'red king sly', ['red', 'king', 'sly']],
  ])('keeps %s', (_what, text, words) => {
    expect(contentWords(text)).toEqual(words);
  });
});

describe('characterNgrams', () => {
  it.each([
    ['cat', 4, ['<cat', 'cat>']],
    ['a', 4, []],
    ['ab', 4, ['<ab>']],
  ])('of %j with n = %d are %j', (word, n, ngrams) => {
    expect(characterNgrams(word, n)).toEqual(ngrams);
  });
});
