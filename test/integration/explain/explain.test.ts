/** One thing is broken for one document at a time, in a real store: the verdict says which. */
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeployments } from '../../../src/deployments/deployments.ts';
import { lookForDocuments, lookForQuestion } from '../../../src/explain/look-for.ts';
import { explain } from '../../../src/explain/rules/verdict.ts';
import { createGoldenDocuments } from '../../../src/golden/sql/golden-documents.ts';
import { createRunReads } from '../../../src/golden/sql/run-results.ts';
import { createRerankRetriever, createVectorStoreRetriever } from '../../../src/retrievers/open-retriever.ts';
import type { Retriever } from '../../../src/retrievers/retriever.ts';
import { createPgvectorStore } from '../../../src/stores/pgvector/store.ts';
import type { VectorStore } from '../../../src/stores/vector-store.ts';
import { NOON } from '../../support/builders.ts';
import { useDatabase } from '../../support/database.ts';
import { never } from '../../support/json-api.ts';
import { type PgvectorServer, pgvectorSettings, startPglite } from '../../support/pgvector.ts';
import { uniforms } from '../../support/uniforms.ts';

const K = 10;
const DIMENSIONS = 16;
const DOCUMENTS = 3000;
/** Documents that are broken in each way. */
const DRAWS = 20;
/** Each has documents of its own to break. */
const ways = ['returned', 'below_k', 'outranked', 'index_miss', 'filtered', 'gone', 'not_indexed', 'reranked_away'];

const database = useDatabase();
let server: PgvectorServer;
let chunks: Pool;
let store: VectorStore;

const uniform = uniforms(7);
const gaussian = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
const vectors = Array.from({ length: DOCUMENTS }, () => Array.from({ length: DIMENSIONS }, gaussian));
const idOf = (place: number) => `doc-${place}`;
const textOf = (place: number) => Array.from({ length: 12 }, (_, word) => `w${place}x${word}`).join(' ');
const near = (place: number, spread: number) => (vectors[place] ?? []).map((value) => value + spread * gaussian());

/** Questions are embedded as whatever vector they were given. */
const questions = new Map<string, readonly number[]>();
const embedder = {
  identity: 'test',
  embed: async (texts: readonly string[]) => ({
    kind: 'vectors' as const,
    vectors: texts.map((text) => Float32Array.from(questions.get(text) ?? [])),
    latencyMs: 1,
  }),
};

const run = (sql: string, values: readonly unknown[] = []) => chunks.query(sql, [...values]);

async function insert(id: string, vector: readonly number[], body: string): Promise<void> {
  await run('insert into chunks (key, embedding, body) values ($1, $2::vector, $3)', [
    id,
    `[${vector.join(',')}]`,
    body,
  ]);
}

beforeAll(async () => {
  server = await startPglite();
  chunks = new Pool({ connectionString: server.url, max: 1 });
  chunks.on('error', () => undefined);
  await run('create extension if not exists vector');
  await run(
    `create table chunks (key text primary key, embedding vector(${DIMENSIONS}), body text, language text default 'en')`,
  );
  await run(
    `insert into chunks (key, embedding, body)
     select key, embedding::vector, body from unnest($1::text[], $2::text[], $3::text[]) as new (key, embedding, body)`,
    [
      vectors.map((_, place) => idOf(place)),
      vectors.map((one) => `[${one.join(',')}]`),
      vectors.map((_, place) => textOf(place)),
    ],
  );
  // Of a hundred lists one is looked at, so that a question at the border of its list misses what is behind it.
  await run('create index on chunks using ivfflat (embedding vector_cosine_ops) with (lists = 100)');
  await run('analyze chunks');
  store = createPgvectorStore(pgvectorSettings({ url: server.url }));
});

afterAll(async () => {
  await store.close();
  await chunks.end();
  await server.stop();
});

const asked = (text: string, exact: boolean, k = K) =>
  store
    .nearest({ vector: Float32Array.from(questions.get(text) ?? []), k, filter: {}, exact, withContent: false }, never)
    .then((found) => (found.kind === 'ok' ? found.value.neighbours.map(({ id }) => id) : []));

/** A question that the document answers: the index has it among the first three. */
async function aQuestionAbout(place: number): Promise<string> {
  for (let attempt = 0; ; attempt += 1) {
    const text = `about ${place}, ${attempt}`;
    questions.set(text, near(place, 0.1));
    if ((await asked(text, false)).slice(0, 3).includes(idOf(place))) return text;
  }
}

/** Breaks one document in a way, and gives the question that misses it. */
const breakers: Readonly<Record<string, (place: number) => Promise<string>>> = {
  returned: aQuestionAbout,
  async below_k(place) {
    for (let attempt = 0; ; attempt += 1) {
      const text = `far from ${place}, ${attempt}`;
      questions.set(text, near(place, 0.8));
      const rank = (await asked(text, true, 6 * K)).indexOf(idOf(place)) + 1;
      const hasCopies = (await asked(text, true, rank)).some((id) => id.startsWith('copy'));
      const isFound = (await asked(text, false)).includes(idOf(place));
      if (rank > K && !hasCopies && !isFound) return text;
    }
  },
  async outranked(place) {
    const text = await aQuestionAbout(place);
    for (let copy = 0; copy < 2 * K; copy += 1)
      await insert(`copy-${place}-${copy}`, questions.get(text) ?? [], textOf(place + 1));
    return text;
  },
  async index_miss(place) {
    for (let attempt = 0; ; attempt += 1) {
      const text = `at the border of ${place}, ${attempt}`;
      questions.set(text, near(place, 0.6));
      const [exact, byIndex] = [await asked(text, true), await asked(text, false)];
      const common = byIndex.filter((id) => exact.includes(id)).length;
      if (exact.includes(idOf(place)) && !byIndex.includes(idOf(place)) && common > 0) return text;
    }
  },
  async filtered(place) {
    const text = await aQuestionAbout(place);
    await run(`update chunks set language = 'xx' where key = $1`, [idOf(place)]);
    return text;
  },
  async gone(place) {
    const text = await aQuestionAbout(place);
    const seen = [{ documentId: idOf(place), content: textOf(place) }];
    await createGoldenDocuments(database.pool).record('docs', seen, NOON);
    await run('delete from chunks where key = $1', [idOf(place)]);
    return text;
  },
  async not_indexed(place) {
    const text = await aQuestionAbout(place);
    await run('delete from chunks where key = $1', [idOf(place)]);
    return text;
  },
  reranked_away: aQuestionAbout,
};

function retrieverFor(way: string, place: number): Retriever {
  const filter: Record<string, string> = way === 'filtered' ? { language: 'en' } : {};
  const first = createVectorStoreRetriever({ embedder, store, filter, timeoutMs: 20_000, configField: 'retriever' });
  if (way !== 'reranked_away') return first;
  // It puts one document behind all others.
  return createRerankRetriever({
    first,
    candidates: 50,
    timeoutMs: 20_000,
    reranker: {
      rerank: async ({ candidates, k }) => {
        const others = candidates.filter(({ id }) => id !== idOf(place));
        const documents = others.map(({ id }, index) => ({ id, score: -index })).slice(0, k);
        return { kind: 'ranking', documents, latencyMs: 1 };
      },
    },
  });
}

describe('a document that does not come back', () => {
  it('is explained by what was broken, and never by anything else', async () => {
    const deps = {
      documents: createGoldenDocuments(database.pool),
      runReads: createRunReads(database.pool),
      deployments: createDeployments(database.pool),
    };
    const wrong: string[] = [];
    let right = 0;
    for (let draw = 0; draw < DRAWS; draw += 1) {
      for (const [number, way] of ways.entries()) {
        const place = draw * 100 + number * 10;
        const text = (await breakers[way]?.(place)) ?? '';
        const pipeline = { name: 'docs', retriever: retrieverFor(way, place), store, embedder };
        const filters = way === 'filtered' ? ['language'] : [];
        const seen = await lookForQuestion(pipeline, { text, tags: {}, k: K }, filters, never);
        const [document] = await lookForDocuments(deps, pipeline, [idOf(place)], null, never);
        if (document === undefined) throw new Error('nothing was looked for');
        const { verdict, evidence } = explain(seen, document);
        if (verdict === way) right += 1;
        else if (verdict !== 'unknown') wrong.push(`${way} ${idOf(place)}: ${verdict}, ${evidence.join(' ')}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(right).toBeGreaterThanOrEqual(0.95 * DRAWS * ways.length);
  }, 120_000);
});
