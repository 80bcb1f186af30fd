/** The shape of a world: corpus, encoder, retriever, store and golden set, and their contents before any fault. */
import { hashText } from '../../src/demo/rag/hashed-tfidf.ts';
import { drawn } from '../../src/math/stats/random.ts';
import { type CorpusDocument, type CorpusName, type CorpusQuery, readCorpus } from './corpora.ts';
import { createEmbedder } from './embedder.ts';
import type { EncoderName, VectorOf } from './vectors.ts';

export const retrieverNames = ['lexical', 'dense', 'dense-rerank'] as const;
export const storeNames = ['pgvector', 'lancedb'] as const;

export interface Shape {
  readonly corpus: CorpusName;
  readonly encoder: EncoderName;
  readonly retriever: (typeof retrieverNames)[number];
  readonly store: (typeof storeNames)[number];
  /** Number of queries in the golden set. */
  readonly golden: number;
  /** Mean number of live queries per hour. */
  readonly traffic: number;
  /** Share of the live queries that users rate. */
  readonly rated: number;
}

export function shapeName({ corpus, encoder, retriever, store, golden, traffic }: Shape): string {
  return [corpus, encoder, retriever, store, golden, traffic].join(' ');
}

/** A chunk in the store. */
export interface Row {
  readonly id: string;
  readonly source: string;
  readonly language: string;
  readonly topic: string;
  readonly text: string;
  /** Version of its document. */
  readonly version: string;
  readonly vector: Float32Array;
}

export interface Query extends CorpusQuery {
  readonly topic: string;
}

/** Store contents and queries of a shape before any fault. */
export interface Material {
  readonly shape: Shape;
  readonly embed: VectorOf;
  /** Rows of the store. */
  readonly rows: readonly Row[];
  /** Text of each document in the corpus, keyed by its id before any fault. */
  readonly texts: ReadonlyMap<string, string>;
  /** Rows of sources that have not been written yet. */
  readonly unwritten: readonly Row[];
  /** Queries about these sources. */
  readonly unwrittenQueries: readonly Query[];
  readonly golden: readonly Query[];
  /** User queries, none of which is in the golden set. */
  readonly live: readonly Query[];
}

const TOPICS = 6;
/** Share of the sources that have not been written yet. */
const UNWRITTEN = 0.08;
const SEED = 20_260_301;

export function topicOf(source: string): string {
  return `topic-${hashText(source, 7) % TOPICS}`;
}

function toRow(document: CorpusDocument, embed: VectorOf): Row {
  return { ...document, topic: topicOf(document.source), version: 'v1', vector: embed(document.text) };
}

function withTopic(query: CorpusQuery): Query {
  return { ...query, topic: topicOf(query.source) };
}

const made = new Map<string, Material>();

export function materialOf(shape: Shape): Material {
  const name = shapeName(shape);
  const known = made.get(name);
  if (known !== undefined) return known;
  const corpus = readCorpus(shape.corpus);
  const { documents, queries } = corpus;
  const embed = createEmbedder(shape.encoder, corpus);
  const sources = [...new Set(documents.map(({ source }) => source))];
  const count = sources.length < 20 ? 1 : Math.round(UNWRITTEN * sources.length);
  const unwritten = new Set(drawn(sources, count, SEED));
  const rows = documents.map((document) => toRow(document, embed));
  const isAbout = ({ relevant }: CorpusQuery): boolean => {
    const row = rows.find(({ id }) => relevant.includes(id));
    return row !== undefined && unwritten.has(row.source);
  };
  const written = queries.filter((query) => !isAbout(query));
  const golden = drawn(written, shape.golden, SEED + 1);
  const labelled = new Set(golden.map(({ id }) => id));
  const material: Material = {
    shape,
    embed,
    rows: rows.filter(({ source }) => !unwritten.has(source)),
    texts: new Map(rows.map(({ id, text }) => [id, text])),
    unwritten: rows.filter(({ source }) => unwritten.has(source)),
    unwrittenQueries: queries.filter(isAbout).map(withTopic),
    golden: golden.map(withTopic),
    live: written.filter(({ id }) => !labelled.has(id)).map(withTopic),
  };
  made.set(name, material);
  return material;
}

/** Minimum share of a document's text that a chunk must contain to be treated as the document. */
const SAME_DOCUMENT = 0.25;

/**
 * Returns the relevant document that a result shows: the document with the same id or, if there is none, the document
 * whose text contains the text of the result. Texts are compared because users do not notice a changed id. Returns null
 * if the result shows no relevant document.
 */
export function shownDocument({ texts }: Material, { relevant }: CorpusQuery, hit: Pick<Row, 'id' | 'text'>) {
  if (relevant.includes(hit.id)) return hit.id;
  return (
    relevant.find((id) => {
      const text = texts.get(id) ?? '';
      return text.includes(hit.text) && hit.text.length >= SAME_DOCUMENT * text.length;
    }) ?? null
  );
}
