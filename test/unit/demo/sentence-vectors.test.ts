import { describe, expect, it } from 'vitest';
import {
  readDemoAnswers,
  readDemoDocuments,
  readDemoQuestions,
  readSentenceVectors,
  SENTENCE_DIMENSIONS,
  sentenceEmbedder,
} from '../../../src/demo/rag/corpus.ts';
import { cutInTwo } from '../../../src/demo/rag/fault.ts';
import { fitInverseDocumentFrequencies, hashedTfidfEmbedder } from '../../../src/demo/rag/hashed-tfidf.ts';
import { canaryTexts } from '../../../src/density/rules/measurement-change.ts';
import { mean } from '../../../src/math/stats/descriptive.ts';
import { cosineSimilarity, dotProduct, lengthOf } from '../../../src/math/vector/matrix.ts';

const [documents, questions, answers, vectors] = await Promise.all([
  readDemoDocuments(),
  readDemoQuestions(),
  readDemoAnswers(),
  readSentenceVectors(),
]);
const halves = documents.flatMap(cutInTwo);
const texts = [...documents, ...questions].map(({ text }) => text);
const words = hashedTfidfEmbedder(fitInverseDocumentFrequencies(texts), { dimensions: SENTENCE_DIMENSIONS, seed: 0 });
const embedder = sentenceEmbedder(vectors, texts, words);

describe('the precomputed vectors', () => {
  it.each([
    ['passages', documents.map(({ text }) => text)],
    ['halves of passages', halves.map(({ text }) => text)],
    ['questions', questions.map(({ text }) => text)],
    ['canary texts', canaryTexts],
  ])('cover all %s, with length 1', (_what, all) => {
    const lengths = all.map((text) => lengthOf(vectors(text) ?? []));
    expect(Math.min(...lengths)).toBeCloseTo(1, 5);
    expect(Math.max(...lengths)).toBeCloseTo(1, 5);
  });

  it('reach ndcg@10 of about 0.83 on the demo questions', () => {
    const stored = documents.map(({ id, text }) => ({ id, vector: embedder.embed(text) }));
    const gains = questions.map(({ id, text }) => {
      const question = embedder.embed(text);
      const ranking = stored
        .map((one) => ({ id: one.id, score: dotProduct(question, one.vector) }))
        .toSorted((x, y) => y.score - x.score);
      const rank = ranking.findIndex((one) => one.id === answers.get(id));
      return rank < 10 ? 1 / Math.log2(rank + 2) : 0;
    });
    expect(mean(gains)).toBeCloseTo(0.834, 2);
  });

  it('are unrelated to those of the lexical embedder', () => {
    const similarities = texts.map((text) => cosineSimilarity(embedder.embed(text), words.embed(text)));
    expect(Math.abs(mean(similarities))).toBeLessThan(0.05);
  });
});

describe('a text without a precomputed vector', () => {
  it.each([
    ['How many tackles were registered by Luke Kuechly', 'How many tackles did Luke Kuechly register?'],
    ['theme of super bowl 50', 'What was the theme of Super Bowl 50?'],
  ])('%j gets a vector similar to %j', (unknown, known) => {
    expect(vectors(unknown)).toBeNull();
    expect(lengthOf(embedder.embed(unknown))).toBeCloseTo(1, 5);
    expect(cosineSimilarity(embedder.embed(unknown), embedder.embed(known))).toBeGreaterThan(0.8);
  });

  it('gets the zero vector if it has no content words', () => {
    expect(embedder.embed('What is it?').every((value) => value === 0)).toBe(true);
  });
});
