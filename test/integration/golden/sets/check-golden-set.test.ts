import { describe, expect, it } from 'vitest';
import type { Embedder } from '../../../../src/connectors/embedders/embedder.ts';
import type { Neighbour } from '../../../../src/connectors/stores/vector-store.ts';
import { checkGoldenSet, hasProblems } from '../../../../src/golden/sets/check-golden-set.ts';
import { repairJudgments } from '../../../../src/golden/sets/label-fixes.ts';
import { recordGoldenDocuments } from '../../../../src/golden/sets/live-mix.ts';
import { recordJudgedDocuments } from '../../../../src/golden/sets/record-judged-documents.ts';
import { createGoldenDocuments, createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { aGoldenQuery, aSchedule, aWatchedPipeline, NOON } from '../../../support/builders.ts';
import { type ContextParts, contextOf } from '../../../support/context.ts';
import { useDatabase } from '../../../support/database.ts';
import { hours } from '../../../support/measurements.ts';
import { failed, ok, scriptedStore } from '../../../support/scripted-store.ts';
import { SteerableClock } from '../../../support/steerable-clock.ts';

const never = new AbortController().signal;
const since = new Date(0);
const oldText =
  'Refunds are paid within fourteen days to the card that was used. Ask us when it takes longer than that.';

/** Every text has the same vector; the store's results are scripted. */
const embedder: Embedder = {
  identity: 'same',
  embed: async (texts) => ({
    kind: 'vectors',
    vectors: texts.map(() => Float32Array.of(1, 0)),
    latencyMs: 1,
  }),
};

const chunk = (id: string, content: string | null): Neighbour => ({
  id,
  content,
  similarity: 0.9,
  score: 0.9,
  scoreKind: 'cosine',
});

function aStore(chunks: readonly Neighbour[]) {
  return scriptedStore({
    existing: (ids) => ok(new Set(ids.filter((id) => chunks.some((one) => one.id === id)))),
    nearest: () => ok({ neighbours: chunks, isShort: false }),
    chunks: (ids) =>
      ok(chunks.flatMap(({ id, content }) => (ids.includes(id) ? [{ id, content, version: null }] : []))),
  });
}

const database = useDatabase();
let pipelines = 0;

/** A separate pipeline whose document texts were never read. */
function setUp() {
  const name = `docs ${(pipelines += 1)}`;
  const documents = createGoldenDocuments(database.pool);
  const clock = new SteerableClock();
  return {
    name,
    documents,
    clock,
    deps: contextOf({ db: { golden: { documents }, live: { samples: { draw: async () => [] } } }, clock }),
    watched: (parts: Parameters<typeof aWatchedPipeline>[0]) => aWatchedPipeline({ ...parts, name }),
  };
}

const queries = [
  aGoldenQuery({ id: 'q1', judgments: [{ documentId: 'a', grade: 2 }] }),
  aGoldenQuery({ id: 'q2', text: 'Where is my invoice?', judgments: [{ documentId: 'b', grade: 1 }] }),
];
const settings = { relevanceLevel: 1, since };

const isAway = { kind: 'failed', message: 'It is away.' } as const;

describe('golden check', () => {
  it('finds no problem while the documents are in the store, and stores their texts', async () => {
    const { deps, documents, name, watched } = setUp();
    const store = aStore([chunk('a', oldText), chunk('b', 'Invoices are under Account.'), chunk('z', 'Other.')]);
    const check = await checkGoldenSet(deps, watched({ store, embedder }), queries, settings, never);
    expect(hasProblems({ check, answers: isAway })).toBe(false);
    const seen = [...(await documents.seen(name, ['a', 'b', 'z']))].map(([id, { content }]) => [id, content]);
    expect(new Map(seen as [string, string][])).toEqual(
      new Map([
        ['a', oldText],
        ['b', 'Invoices are under Account.'],
      ]),
    );
  });

  it('proposes the chunk that replaces a re-chunked document if its text is known', async () => {
    const { deps, watched } = setUp();
    const before = aStore([chunk('a', oldText), chunk('b', 'Invoices are under Account.')]);
    await checkGoldenSet(deps, watched({ store: before, embedder }), queries, settings, never);
    const after = aStore([chunk('b', 'Invoices are under Account.'), chunk('a-new', `Money back. ${oldText}`)]);
    const check = await checkGoldenSet(deps, watched({ store: after, embedder }), queries, settings, never);
    expect(hasProblems({ check, answers: isAway })).toBe(true);
    expect(check.proposals).toMatchObject([
      {
        number: 1,
        queryId: 'q1',
        from: 'a',
        grade: 2,
        to: [{ documentId: 'a-new', evidence: { kind: 'whole' } }],
      },
    ]);
  });

  it('proposes nothing for a document whose text is unknown, and lists it', async () => {
    const { deps, watched } = setUp();
    const store = aStore([chunk('b', 'Invoices.'), chunk('near', oldText)]);
    const check = await checkGoldenSet(deps, watched({ store, embedder }), queries, settings, never);
    expect(check.labels).toMatchObject({ kind: 'probed', stale: 0, lost: 1 });
    expect(check.proposals).toEqual([]);
    expect(check.lost.unknown).toEqual(['a']);
  });

  it('counts a document as deleted if the manifest lists it as deleted and no other document has its text', async () => {
    const { deps, documents, name, watched } = setUp();
    await database.pool.query(
      `insert into index_documents (pipeline, id, place, deleted, since)
       select $1::text, id, 1, true, now() from unnest(array['a', 'b']) as d (id)`,
      [name],
    );
    await documents.record(name, new Map([['a', oldText]]), NOON);
    const store = aStore([chunk('a-new', oldText)]);
    const check = await checkGoldenSet(deps, watched({ store, embedder }), queries, settings, never);
    expect(check.labels).toMatchObject({ kind: 'probed', probed: 2, stale: 2, deleted: 1, lost: 0 });
    expect(check.labels).toMatchObject({
      labels: [
        { documentId: 'a', fate: 'superseded' },
        { documentId: 'b', fate: 'deleted' },
      ],
    });
    expect(check.proposals).toMatchObject([
      { queryId: 'q1', from: 'a', to: [{ documentId: 'a-new' }] },
      { queryId: 'q2', from: 'b', to: [] },
    ]);
  });

  it('repairs a set in a new version with a note that counts moved and removed judgments and queries', async () => {
    const sets = createGoldenSets(database.pool);
    const set = { name: 'withdrawn', contentHash: 'h1', format: 'jsonl', origin: 'human', note: 'Imported.' } as const;
    const { set: first } = await sets.add({ ...set, queries, act: 'import_golden_set' }, NOON);
    const evidence = { kind: 'same_content', cosine: 1 } as const;
    const move = { number: 1, queryId: 'q1', from: 'a', to: [{ documentId: 'a-new', evidence }], grade: 2 };
    const removal = { number: 2, queryId: 'q2', from: 'b', to: [], grade: 1 };
    const repaired = await repairJudgments(sets, { set: first, queries }, [move, removal]);
    expect(repaired).toMatchObject({
      version: 2,
      note: 'From version 1: 1 judgment was moved from missing documents to the chunks that replaced them; 1 judgment was removed, because the manifest lists the documents as deleted; 1 query was removed, because no relevant document remained.',
    });
    const left = await sets.queries('withdrawn', 2);
    expect(left).toMatchObject([{ id: 'q1', judgments: [{ documentId: 'a-new', grade: 2 }] }]);
    await expect(
      repairJudgments(sets, { set: repaired, queries: left }, [{ ...removal, queryId: 'q1', from: 'a-new' }]),
    ).rejects.toMatchObject({ code: 'golden_set_empty' });
  });

  it('reports why it cannot check without a store or an embedder, or when the store fails or has no texts', async () => {
    const { deps, documents, name, watched } = setUp();
    const checkWith = (parts: Parameters<typeof aWatchedPipeline>[0]) =>
      checkGoldenSet(deps, watched(parts), queries, settings, never);
    expect((await checkWith({})).labels).toMatchObject({ kind: 'unknown', reason: /names no vector_store/ });
    await documents.record(name, new Map([['a', oldText]]), NOON);
    const store = aStore([chunk('b', null)]);
    expect((await checkWith({ store })).lost.gap).toMatch(/no embedder/);
    expect((await checkWith({ store, embedder })).lost.gap).toMatch(/returns no texts/);
    const broken = scriptedStore({
      existing: () => ok(new Set(['b'])),
      nearest: () => failed('It returned 500.'),
    });
    expect((await checkWith({ store: broken, embedder })).lost.gap).toBe('It returned 500.');
    expect((await checkWith({ store })).representativeness).toMatchObject({
      kind: 'unknown',
      reason: 'no_embedder',
    });
  });
});

describe('the texts of judged documents', () => {
  it('are not read again once all are known', async () => {
    const { deps, watched } = setUp();
    let reads = 0;
    const store = scriptedStore({
      chunks: (ids) => {
        reads += ids.length;
        return ok(ids.map((id) => ({ id, content: `Text of ${id}.`, version: null })));
      },
    });
    const pipeline = watched({ store, embedder });
    const all = { judged: 2, known: 2, problem: null };
    expect(await recordJudgedDocuments(deps, pipeline, ['a', 'b'], never)).toEqual(all);
    expect(await recordJudgedDocuments(deps, pipeline, ['a', 'b'], never)).toEqual(all);
    expect(reads).toBe(2);
  });

  it('are read again if they are old', async () => {
    const { deps, documents, name, watched } = setUp();
    const store = scriptedStore({ chunks: (ids) => ok(ids.map((id) => ({ id, content: 'new', version: null }))) });
    await documents.record(name, new Map([['a', 'old']]), NOON);
    await documents.record(name, new Map([['b', 'recent']]), hours(1));
    const all = { judged: 2, known: 2, problem: null };
    expect(await recordJudgedDocuments(deps, watched({ store, embedder }), ['a', 'b'], never, hours(0.5))).toEqual(all);
    const seen = await documents.seen(name, ['a', 'b']);
    expect([seen.get('a')?.content, seen.get('b')?.content]).toEqual(['new', 'recent']);
  });

  it('fail the job when the store fails, because no measurement reports the failure; texts read before are stored', async () => {
    const { deps, watched, documents, name } = setUp();
    const many = Array.from({ length: 600 }, (_, i) =>
      aGoldenQuery({ id: `q${i}`, judgments: [{ documentId: `d${i}`, grade: 1 }] }),
    );
    let reads = 0;
    const store = scriptedStore({
      chunks: (ids) => {
        reads += 1;
        return reads === 1 ? ok(ids.map((id) => ({ id, content: id, version: null }))) : failed('It returned 500.');
      },
    });
    const sets = { latest: async () => ({ version: 1 }), queries: async () => many };
    const context = contextOf(deps, { db: { golden: { sets } } } as unknown as ContextParts);
    const pipeline = watched({ store, embedder, golden: [aSchedule({ set: 'faq' })] });
    await expect(recordGoldenDocuments(context, pipeline, never)).rejects.toMatchObject({
      code: 'store_unreachable',
      message: expect.stringContaining('It returned 500.'),
    });
    expect((await documents.seen(name, ['d0', 'd499', 'd500'])).size).toBe(2);
  });

  it('are all stored for a document with several chunks', async () => {
    const { deps, documents, name, watched } = setUp();
    const store = scriptedStore({
      chunks: () => ok(['One.', 'Two.'].map((content) => ({ id: 'a', content, version: null }))),
    });
    await recordJudgedDocuments(deps, watched({ store, embedder }), ['a'], never);
    expect((await documents.seen(name, ['a'])).get('a')?.content).toBe('One.\nTwo.');
  });

  it('are read for different documents of a large set each day', async () => {
    const { clock, deps, watched } = setUp();
    const many = Array.from({ length: 5000 }, (_, i) => `d${i}`);
    const asked = new Set<string>();
    const store = scriptedStore({
      chunks: (ids) => {
        expect(ids.length).toBeLessThanOrEqual(500);
        for (const id of ids) asked.add(id);
        return ok([]);
      },
    });
    const pipeline = watched({ store, embedder });
    for (let day = 0; day < 5; day++) {
      await recordJudgedDocuments(deps, pipeline, many, never);
      await clock.advance(86_400_000);
    }
    expect(asked.size).toBe(many.length);
  });
});
