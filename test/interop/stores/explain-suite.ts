/** Tests what `recalld explain` reports about a document that a real store returns, misses or ranks too low. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createDb } from '../../../src/app/database.ts';
import { retrieverSchema } from '../../../src/connectors/retrievers/config.ts';
import { bruteForce } from '../../../src/connectors/stores/store-tests/subject.ts';
import type { VectorStore } from '../../../src/connectors/stores/vector-store.ts';
import { systemClock } from '../../../src/core/system-clock.ts';
import { answerRequest, type Explained } from '../../../src/incidents/explain/answers.ts';
import { createExplainTurns } from '../../../src/incidents/explain/explain-turns.ts';
import { never, type TestIndex } from '../../contract/vector-store-bench.ts';
import { aWatchedPipeline, NOON } from '../../support/builders.ts';
import { openRetriever } from '../../support/connectors.ts';
import { contextOf } from '../../support/context.ts';
import type { UsedDatabase } from '../../support/database.ts';
import { silentLogger } from '../../support/log.ts';
import { limitsOfOne } from '../../support/throttle.ts';
import { uniforms } from '../../support/uniforms.ts';
import type { VectorDocument } from '../../support/vector-documents.ts';

/** An index that a test may change. */
type ChangeableIndex = TestIndex & Required<Pick<TestIndex, 'remove'>>;

export interface FilledIndex {
  readonly index: ChangeableIndex;
  readonly store: VectorStore;
  readonly url: string;
}

const K = 5;
const uniform = uniforms(5);
/** Returns a random vector near `vector`; without `vector`, near the zero vector. */
const around = (spread: number, vector: Float32Array = new Float32Array(16)) =>
  vector.map((value) => value + spread * (uniform() - 0.5));
const textOf = (place: number) => Array.from({ length: 12 }, (_, word) => `w${place}x${word}`).join(' ');
const documents = Array.from({ length: 200 }, (_, place): VectorDocument => {
  const fields = { topic: 'a', language: place % 4 === 3 ? 'de' : 'en' };
  return { id: `doc-${place}`, vector: around(1), content: textOf(place), fields };
});
const documentAt = (place: number) => documents[place] as VectorDocument;
/** Vectors keyed by text: the texts of all documents, and one golden query about each document. */
const vectors = new Map([
  ...documents.map(({ content, vector }) => [content, vector] as const),
  ...documents.map(({ id, vector }) => [`about ${id}`, around(0.02, vector)] as const),
]);
const vectorOf = (text: string) => vectors.get(text) ?? new Float32Array(16);

const embedder = {
  identity: 'test',
  embed: async (texts: readonly string[]) => ({ kind: 'vectors' as const, vectors: texts.map(vectorOf), latencyMs: 1 }),
};

interface Case {
  readonly name: string;
  /** Index of the document that the query is about. */
  readonly about: number;
  /** Document to explain; by default, the one that the query is about. */
  readonly document?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly change?: (index: ChangeableIndex) => Promise<void>;
  /** True if recalld has read the document's text from the store. */
  readonly isKnown?: true;
  readonly expected: Partial<Pick<Explained, 'verdict' | 'outrankedBy' | 'rank'>> & { readonly evidence: RegExp };
}

const copies = Array.from({ length: 8 }, (_, copy) => {
  return { ...documentAt(60), id: `copy-${copy}`, vector: around(0.001, vectorOf('about doc-60')) };
});
const ninth = bruteForce(documents, vectorOf('about doc-10'), 9, 'cosine').at(-1)?.id ?? '';

/** The cases run in this order, so a later case cannot affect an earlier one. */
const cases: readonly Case[] = [
  { name: 'it is returned', about: 1, expected: { verdict: 'returned', rank: 1, evidence: /rank 1 of 5/ } },
  {
    name: 'other documents are nearer',
    about: 10,
    document: ninth,
    expected: { verdict: 'below_k', rank: 9, evidence: /returns the document at rank 9 with score/ },
  },
  {
    name: 'the filter removes it',
    about: 3,
    tags: { language: 'en' },
    expected: { verdict: 'filtered', evidence: /Without the tags of the query, .* rank 1/ },
  },
  {
    name: 'it was never indexed',
    about: 20,
    document: 'doc-900',
    expected: { verdict: 'not_indexed', evidence: /never had one/ },
  },
  {
    name: 'it was deleted',
    about: 30,
    isKnown: true,
    change: (index) => index.remove(['doc-30']),
    expected: { verdict: 'gone', evidence: /missing from the store; it was still there/ },
  },
  {
    name: 'its id changed',
    about: 40,
    isKnown: true,
    async change(index) {
      await index.remove(['doc-40']);
      await index.add([{ ...documentAt(40), id: 'renamed' }]);
    },
    expected: { verdict: 'gone', evidence: /The same text is stored under .*renamed/ },
  },
  {
    name: 'its vector is from another model',
    about: 50,
    async change(index) {
      await index.remove(['doc-50']);
      await index.add([{ ...documentAt(50), vector: documentAt(50).vector.map((value) => -value) }]);
    },
    expected: {
      verdict: 'not_indexed',
      evidence: /The vector of this document was not computed by the configured embedder/,
    },
  },
  {
    name: 'copies of it are nearer',
    about: 60,
    change: (index) => index.add(copies),
    expected: { verdict: 'outranked', outrankedBy: 'near_duplicates', rank: 9, evidence: /the document at rank 9/ },
  },
];

/** @param engine search engine whose own retriever is also queried */
export function describeExplain(
  database: UsedDatabase,
  fill: (documents: readonly VectorDocument[]) => Promise<FilledIndex>,
  engine?: 'elasticsearch' | 'opensearch',
): void {
  const filter = { language: '{{tags.language}}' };
  const configOf = (kind: 'vector_store' | 'elasticsearch' | 'opensearch', { url, index }: FilledIndex) => {
    const fields = { id: 'doc_id', content: 'text', embedding: 'embedding' };
    const search = { url, retries: 0, index: index.name, mode: 'knn', num_candidates: 100, ...fields };
    return retrieverSchema.parse({ kind, filter, timeout_ms: 60_000, ...(kind === 'vector_store' ? {} : search) });
  };

  describe.each(engine === undefined ? (['vector_store'] as const) : (['vector_store', engine] as const))(
    'the rank or absence of a document with the retriever %s',
    (kind) => {
      const name = `explained with ${kind}`;
      let filled: FilledIndex;
      beforeAll(async () => {
        filled = await fill(documents);
      });

      it.each(cases)('is explained if $name', async ({ about, document = `doc-${about}`, tags = {}, ...one }) => {
        const { store, index } = filled;
        const db = createDb(database.pool);
        if (one.isKnown === true) await db.golden.documents.record(name, new Map([[document, textOf(about)]]), NOON);
        await one.change?.(index);
        const config = configOf(kind, filled);
        const retriever = openRetriever(config, { embedder, store });
        const context = contextOf({
          db: { ...db, limits: limitsOfOne(systemClock) },
          clock: systemClock,
          logger: silentLogger,
          pipelines: [aWatchedPipeline({ name, retriever, store, embedder })],
          config: { pipelines: [{ name, retriever: config }] },
          explainTurns: createExplainTurns(),
        });
        const request = { pipeline: name, query: `about doc-${about}`, document, tag: tags, k: K, limit: 1 };
        const { explained } = await answerRequest(context, request, never);
        await retriever.close?.();
        expect(
          explained.map(({ verdict, outrankedBy, rank, evidence }) => ({
            verdict,
            outrankedBy,
            rank,
            evidence: evidence.join(' '),
          })),
        ).toEqual([
          {
            outrankedBy: null,
            rank: null,
            ...one.expected,
            evidence: expect.stringMatching(one.expected.evidence) as string,
          },
        ]);
      });
    },
  );
}
