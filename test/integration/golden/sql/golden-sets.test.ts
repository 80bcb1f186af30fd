import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GoldenQuery } from '../../../../src/core/model.ts';
import type { NewGoldenSet, QueryOrigin } from '../../../../src/golden/rules/golden-set.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { useDatabase } from '../../../support/database.ts';

const monday = new Date('2026-11-16T09:00:00.000Z');
const tuesday = new Date('2026-11-17T09:00:00.123Z');

const refund: GoldenQuery = {
  id: 'q1',
  text: 'How do I get a refund?',
  tags: { language: 'en' },
  judgments: [
    { documentId: 'doc-1', grade: 2 },
    { documentId: 'doc-2', grade: 0 },
  ],
};
const invoice: GoldenQuery = {
  id: 'q2',
  text: 'Where is my invoice?',
  tags: {},
  judgments: [{ documentId: 'doc-3', grade: 1 }],
};

let names = 0;

/** A set with a unique name. */
function aSet(set: Partial<NewGoldenSet> = {}): NewGoldenSet {
  return {
    name: `set-${(names += 1)}`,
    contentHash: 'hash-a',
    format: 'jsonl',
    queries: [refund, invoice],
    ...set,
  };
}

const database = useDatabase();
const store = () => createGoldenSets(database.pool);

describe('a golden set', () => {
  it('is version 1 when its name is new, and has the details of the import', async () => {
    const set = aSet();
    const { set: version, created } = await store().add(set, tuesday);
    expect(created).toBe(true);
    expect(version).toEqual({
      name: set.name,
      version: 1,
      contentHash: 'hash-a',
      format: 'jsonl',
      importedAt: tuesday,
      queries: 2,
      judgments: 3,
      origin: 'human',
      note: null,
    });
    expect(await store().latest(set.name)).toEqual(version);
  });

  it('stores the forbidden documents of a query, judged or not, in order', async () => {
    const probe = { ...invoice, id: 'probe', judgments: [], forbidden: ['tenant-b/*', 'a, "b" {c}'] };
    const queries = [refund, { ...invoice, forbidden: ['withdrawn'] }, probe];
    const { set } = await store().add({ ...aSet(), queries }, monday);
    expect(await store().queries(set.name, set.version)).toEqual(queries);
    expect(await store().withForbidden(set.name, set.version)).toEqual([invoice.id, 'probe']);
  });

  it('stores that a query has no answer', async () => {
    const queries = [refund, { ...invoice, judgments: [], noAnswer: true } as const];
    const { set } = await store().add({ ...aSet(), queries }, monday);
    expect(await store().queries(set.name, set.version)).toEqual(queries);
  });

  it('keeps its version and its import date when the same content is imported', async () => {
    const set = aSet();
    const first = await store().add(set, monday);
    const second = await store().add(set, tuesday);
    expect(second).toEqual({ set: first.set, created: false });
  });

  it('gets a new version from changed content, and the old version stays unchanged', async () => {
    const set = aSet();
    await store().add(set, monday);
    const changed = {
      ...set,
      contentHash: 'hash-b',
      queries: [{ ...invoice, text: 'Where are my invoices?' }],
    };
    const { set: version, created } = await store().add(changed, tuesday);
    expect(created).toBe(true);
    expect(version).toMatchObject({ version: 2, contentHash: 'hash-b', queries: 1, judgments: 1 });
    expect(await store().latest(set.name)).toEqual(version);
    expect(await store().queries(set.name, 1)).toEqual([refund, invoice]);
    expect(await store().queries(set.name, 2)).toEqual(changed.queries);
  });

  it('gets a third version when the content of its first is imported again', async () => {
    const set = aSet({ contentHash: 'a' });
    await store().add(set, monday);
    await store().add({ ...set, contentHash: 'b' }, monday);
    const { set: third, created } = await store().add(set, tuesday);
    expect(created).toBe(true);
    expect(third.version).toBe(3);
  });

  it('gets one version for each of several different concurrent imports', async () => {
    const set = aSet();
    const hashes = Array.from({ length: 8 }, (_, index) => `hash-${index}`);
    const added = await Promise.all(hashes.map((contentHash) => store().add({ ...set, contentHash }, monday)));
    expect(added.map(({ created }) => created)).toEqual(hashes.map(() => true));
    expect(added.map(({ set: { version } }) => version).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('gets one version from concurrent imports of the same content', async () => {
    const set = aSet();
    const added = await Promise.all(Array.from({ length: 8 }, () => store().add(set, monday)));
    expect(added.filter(({ created }) => created)).toHaveLength(1);
    expect(added.map(({ set: { version } }) => version)).toEqual(Array.from({ length: 8 }, () => 1));
  });

  it('is not stored at all when its import fails halfway', async () => {
    const twice = { documentId: 'doc-1', grade: 1 };
    const broken = aSet({ queries: [refund, { ...invoice, judgments: [twice, twice] }] });
    await expect(store().add(broken, monday)).rejects.toThrow(/duplicate/);
    expect(await store().latest(broken.name)).toBeNull();
    expect(await store().queries(broken.name, 1)).toEqual([]);
    const { set } = await store().add({ ...broken, queries: [refund] }, monday);
    expect(set.version).toBe(1);
  });

  it('keeps human and generated queries separate', async () => {
    const [people, model] = [aSet(), aSet({ origin: 'generated', note: 'Asked of a model.' })];
    await store().add(people, monday);
    const { set } = await store().add(model, monday);
    expect(set).toMatchObject({ origin: 'generated', note: 'Asked of a model.' });
    const mixed = { contentHash: 'hash-b' };
    for (const set of [
      { ...people, ...mixed, origin: 'generated' as const },
      { ...model, ...mixed, origin: 'human' as const },
    ]) {
      await expect(store().add(set, tuesday)).rejects.toMatchObject({ code: 'golden_origin_differs' });
      expect((await store().latest(set.name))?.version).toBe(1);
    }
  });

  it('remembers the origin of its queries in all versions, and the first origin is final', async () => {
    const origin: QueryOrigin = {
      queryId: 'q2',
      kind: 'live',
      pipeline: 'docs',
      liveQueryHash: 'hash of the query',
      userHash: null,
      askedAt: monday,
      details: { asked: 3 },
    };
    const set = aSet({ origins: [origin] });
    await store().add(set, monday);
    const later = { ...origin, pipeline: 'other' };
    await store().add({ ...set, contentHash: 'hash-b', origins: [later, { ...later, queryId: 'q1' }] }, tuesday);
    expect(await store().origins(set.name)).toEqual([{ ...later, queryId: 'q1' }, origin]);
    expect(await store().origins('never-imported')).toEqual([]);
  });

  it('is null when it was never imported', async () => {
    expect(await store().latest('never-imported')).toBeNull();
    expect(await store().queries('never-imported', 1)).toEqual([]);
  });
});

describe('the list of golden sets', () => {
  it('contains every version, newest first within a name', async () => {
    const [b, a] = [aSet({ name: 'listed-b' }), aSet({ name: 'listed-a' })];
    await store().add(b, monday);
    await store().add(a, monday);
    await store().add({ ...b, contentHash: 'hash-b' }, tuesday);
    const listed = (await store().list()).filter(({ name }) => name.startsWith('listed-'));
    expect(listed.map(({ name, version }) => `${name} ${version}`)).toEqual(['listed-a 1', 'listed-b 2', 'listed-b 1']);
  });
});

describe('the queries of a golden set', () => {
  it('are returned in the order of the import, not of their ids', async () => {
    const ids = ['q10', 'q9', 'Q1', 'ä', 'a', '10', '9', ' '];
    const set = aSet({ queries: ids.map((id) => ({ ...invoice, id })) });
    await store().add(set, monday);
    expect((await store().queries(set.name, 1)).map(({ id }) => id)).toEqual(ids);
  });

  it('are returned even when no document is judged, or none is judged relevant', async () => {
    const queries = [
      { ...refund, judgments: [{ documentId: 'doc-1', grade: 0 }] },
      { ...invoice, judgments: [] },
    ];
    const set = aSet({ queries });
    await store().add(set, monday);
    expect(await store().queries(set.name, 1)).toEqual(queries);
  });

  it('are returned with their exact text, tags and judgments', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(anyQuery, { selector: (query) => query.id, maxLength: 5 }), async (queries) => {
        const set = aSet({ queries });
        await store().add(set, monday);
        expect((await store().queries(set.name, 1)).map(comparable)).toEqual(queries.map(comparable));
      }),
      { numRuns: 40 },
    );
  });

  it('are returned even when a text is truncated within a character', async () => {
    const half = { ...invoice, text: 'Refund \uD83D', tags: { '\uDE00': '\uD83D' } };
    const set = aSet({ queries: [{ ...half, judgments: [{ documentId: 'half \uD83D', grade: 1 }] }] });
    await store().add(set, monday);
    const judgments = [{ documentId: 'half \uFFFD', grade: 1 }];
    expect(await store().queries(set.name, 1)).toEqual([
      { ...half, text: 'Refund \uFFFD', tags: { '\uFFFD': '\uFFFD' }, judgments },
    ]);
  });

  it('may be thousands with a hundred thousand judgments', async () => {
    const queries = Array.from({ length: 2000 }, (_, query) => ({
      id: `q${query}`,
      text: `Question number ${query}?`,
      tags: { topic: `t${query % 20}` },
      judgments: Array.from({ length: 50 }, (__, rank) => ({
        documentId: `d${query}-${rank}`,
        grade: rank % 3,
      })),
    }));
    const set = aSet({ queries });
    const { set: version } = await store().add(set, monday);
    expect(version).toMatchObject({ queries: 2000, judgments: 100_000 });
    const stored = await store().queries(set.name, 1);
    expect(stored.map(({ id }) => id)).toEqual(queries.map(({ id }) => id));
    expect(comparable(stored[1999] ?? invoice)).toEqual(comparable(queries[1999] ?? refund));
  });
});

/** Any text without NUL, because no importer accepts NUL. */
const anyText = fc
  .oneof(fc.string({ unit: 'binary' }), fc.constantFrom(`'"\\,{}`, '{"a":1}', 'null', 'NULL', '', '\u{1F600} ñ \u202E'))
  .map((text) => text.replaceAll('\0', ''));

const anyQuery: fc.Arbitrary<GoldenQuery> = fc.record({
  id: anyText,
  text: anyText,
  tags: fc.dictionary(anyText, anyText, { maxKeys: 3, noNullPrototype: true }),
  judgments: fc.uniqueArray(fc.record({ documentId: anyText, grade: fc.nat({ max: 1000 }) }), {
    selector: (judgment) => judgment.documentId,
    maxLength: 4,
  }),
});

/** Indexes the judgments of a query by document, because their order is irrelevant. */
function comparable(query: GoldenQuery): unknown {
  return {
    ...query,
    judgments: new Map(query.judgments.map(({ documentId, grade }) => [documentId, grade])),
  };
}
