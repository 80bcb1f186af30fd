/**
 * Questions about the demo texts, their rewritten forms, and the documents that each retriever returns for each form.
 * Each ranking is computed only once.
 */
import { readDemoAnswers, readDemoDocuments, readDemoQuestions } from '../../src/demo/rag/corpus.ts';
import { chooseDroppedIds } from '../../src/demo/rag/fault.ts';
import {
  contentWords,
  fitInverseDocumentFrequencies,
  hashedTfidfEmbedder,
  hashText,
} from '../../src/demo/rag/hashed-tfidf.ts';
import { dot } from '../diagnosis/corpus.ts';

/** Number of sources from which the agent chooses; each contains a third of the articles. */
export const SOURCES = 3;
/** Number of documents that a call returns. */
export const DEPTH = 5;
/**
 * Number of query forms of a question: the original, its keywords, its rarest keywords, and its keywords followed by
 * the title of the best document's article. The form with the number `ANSWER` is not a query but an answer.
 */
export const FORMS = 4;
export const ANSWER = 4;

export const retrievers = ['healthy', 'third_lost', 'better', 'same_list'] as const;
export type RetrieverName = (typeof retrievers)[number];

export interface AskedQuestion {
  readonly id: string;
  readonly article: number;
  /** Index of the document that answers the question. */
  readonly document: number;
  /** Index of the source that contains this document. */
  readonly source: number;
  /** Texts of the question, by form; the last text is an answer. */
  readonly texts: readonly string[];
}

export interface Library {
  readonly documentIds: readonly string[];
  readonly questions: readonly AskedQuestion[];
  readonly articles: readonly (readonly number[])[];
  /**
   * Returns the indices of the documents that a retriever finds for a form of a question, best first. `source` may be
   * `SOURCES`, which means all sources.
   */
  found(retriever: RetrieverName, question: number, form: number, source: number): readonly number[];
}

const DIMENSIONS = 128;
const BETTER_DIMENSIONS = 2048;

export async function openLibrary(): Promise<Library> {
  const [documents, questions, answers] = await Promise.all([
    readDemoDocuments(),
    readDemoQuestions(),
    readDemoAnswers(),
  ]);
  const fitted = fitInverseDocumentFrequencies(documents.map(({ text }) => text));
  const embedders = {
    plain: hashedTfidfEmbedder(fitted, { dimensions: DIMENSIONS, seed: 0 }),
    better: hashedTfidfEmbedder(fitted, { dimensions: BETTER_DIMENSIONS, seed: 0 }),
  };
  const titles = [...new Set(documents.map(({ title }) => title))];
  const sourceOf = (title: string): number => titles.indexOf(title) % SOURCES;
  const placeOf = new Map(documents.map(({ id }, place) => [id, place]));
  const vectors = {
    plain: documents.map(({ text }) => embedders.plain.embed(text)),
    better: documents.map(({ text }) => embedders.better.embed(text)),
  };
  const lost = new Set(chooseDroppedIds(documents.map(({ id }) => id)));
  const frequency = (word: string): number => fitted.documentFrequency.get(word) ?? 0;
  const sentences = documents.flatMap(({ text }, document) =>
    (text.match(/[^.!?]+[.!?]/g) ?? []).map((sentence) => ({ document, sentence: sentence.trim() })),
  );
  const wordsOf = sentences.map(({ sentence }) => new Set(contentWords(sentence)));
  const asked = questions.map(({ id, text }): AskedQuestion => {
    const document = placeOf.get(answers.get(id) ?? '') ?? 0;
    const title = documents[document]?.title ?? '';
    return {
      id,
      article: titles.indexOf(title),
      document,
      source: sourceOf(title),
      texts: [text, ...rewritten(text, frequency), inventedAnswer(id, text)],
    };
  });
  /** Returns an answer as a model might write it from memory: sometimes right, otherwise about another subject. */
  function inventedAnswer(id: string, text: string): string {
    const words = contentWords(text);
    const scored = sentences
      .map(({ sentence, document }, at) => ({
        sentence,
        document,
        overlap: words.filter((word) => wordsOf[at]?.has(word)).length,
      }))
      .filter(({ sentence }) => sentence.length > 40)
      .toSorted((a, b) => b.overlap - a.overlap);
    const right = placeOf.get(answers.get(id) ?? '') ?? 0;
    const isRight = hashText(id, 7) % 10 < 4;
    return (scored.find(({ document }) => (document === right) === isRight) ?? scored[0])?.sentence ?? text;
  }
  const queryVectors = new Map<string, Float32Array>();
  const vectorOf = (kind: 'plain' | 'better', text: string): Float32Array => {
    const key = `${kind} ${text}`;
    const known = queryVectors.get(key) ?? embedders[kind].embed(text);
    queryVectors.set(key, known);
    return known;
  };
  const rankings = new Map<number, readonly number[]>();
  const library: Library = {
    documentIds: documents.map(({ id }) => id),
    questions: asked,
    articles: titles.map((_, article) => asked.flatMap((one, at) => (one.article === article ? [at] : []))),
    found(retriever, question, form, source) {
      const at = retriever === 'same_list' ? 0 : question;
      const key = ((retrievers.indexOf(retriever) * (SOURCES + 1) + source) * asked.length + at) * (FORMS + 1) + form;
      const known = rankings.get(key);
      if (known !== undefined) return known;
      const kind = retriever === 'better' ? 'better' : 'plain';
      const base = asked[at]?.texts[retriever === 'same_list' ? 0 : form] ?? '';
      // The fourth form names the article of the best document in the first call's results.
      const best = form === FORMS - 1 ? library.found(retriever, at, 0, SOURCES)[0] : undefined;
      const text = best === undefined ? base : `${base} ${documents[best]?.title}`;
      const vector = vectorOf(kind, text);
      const ranked = documents
        .flatMap(({ id, title }, document) => {
          const isElsewhere = source < SOURCES && sourceOf(title) !== source;
          if (isElsewhere || (retriever === 'third_lost' && lost.has(id))) return [];
          return [{ document, score: dot(vectors[kind][document] as Float32Array, vector) }];
        })
        .toSorted((a, b) => b.score - a.score)
        .slice(0, 2 * DEPTH)
        .map(({ document }) => document);
      rankings.set(key, ranked);
      return ranked;
    },
  };
  return library;
}

/**
 * Returns three rewritten queries: all keywords in their order, the three rarest keywords, and all keywords again, to
 * which the caller adds an article's title.
 */
function rewritten(text: string, frequency: (word: string) => number): string[] {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const keywords = words.filter((word) => contentWords(word).length > 0);
  const rarest = keywords
    .map((word, place) => ({ word, place, count: frequency(contentWords(word)[0] ?? '') }))
    .toSorted((a, b) => a.count - b.count || a.place - b.place)
    .slice(0, 3)
    .toSorted((a, b) => a.place - b.place)
    .map(({ word }) => word);
  return [keywords.join(' '), rarest.join(' '), keywords.join(' ')];
}
