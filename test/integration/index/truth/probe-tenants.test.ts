/** Tenant probes detect a broken filter, and report nothing for a working filter. */
import { beforeEach, describe, expect, it } from 'vitest';
import { forbids } from '../../../../src/golden/rules/forbidden-results.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { type ProbeTenantsOptions, probeTenants } from '../../../../src/index/truth/edge/probe-tenants-command.ts';
import { useDatabase } from '../../../support/database.ts';
import { chunkOf, IndexWorld, textOf } from '../../../support/index-world.ts';

const database = useDatabase();
const signal = new AbortController().signal;
let sets = 0;

/** A manifest of tenants a, b and c: ids of a and b start with the tenant name; ids of c have no unique prefix. */
async function aReadManifest(): Promise<IndexWorld> {
  const world = new IndexWorld(database.pool);
  const ids = ['a', 'b', 'c'].flatMap((tenant) =>
    Array.from({ length: 8 }, (_, i) => (tenant === 'c' ? `shared-${i}` : `${tenant}/${i}`)),
  );
  const tenantOf = (id: string): string => (id.startsWith('shared') ? 'c' : (id[0] ?? ''));
  world.lines = [
    ...ids.map((id) => ({ id, segment: `tenant=${tenantOf(id)}`, updated_at: '2025-03-01T00:00:00Z' })),
    { id: 'shared-of-all' },
  ];
  world.store.hold([...ids, 'shared-of-all'].map((id) => chunkOf(id)));
  await world.round();
  return world;
}

describe('golden probe-tenants', () => {
  let world: IndexWorld;
  const probe = (options: Partial<ProbeTenantsOptions> = {}) => {
    const all = { pipeline: 'docs', set: `probes-${sets}`, segment: 'tenant=a', questions: 3, ...options };
    return probeTenants(world.deps, world.store, all, signal);
  };

  beforeEach(async () => {
    sets += 1;
    await database.pool.query('truncate index_documents, index_rounds');
    world = await aReadManifest();
  });

  it('creates queries with texts of one tenant and the tags of another, and forbids the documents by prefix', async () => {
    const { set, created, probed } = await probe({ forbid: ['tenant=b'] });
    expect(created).toBe(true);
    expect(probed).toEqual([{ segment: 'tenant=b', queries: 3, prefix: 'b/', ids: 0 }]);
    const queries = await createGoldenSets(database.pool).queries(set.name, set.version);
    expect(queries).toHaveLength(3);
    for (const { text, tags, judgments, forbidden = [] } of queries) {
      expect({ tags, judgments, forbidden }).toEqual({ tags: { tenant: 'a' }, judgments: [], forbidden: ['b/*'] });
      const said = Array.from({ length: 8 }, (_, i) => `b/${i}`).filter((id) => textOf(id).startsWith(text));
      expect(said).toHaveLength(1);
    }
  });

  it('lists ids for a tenant without a unique prefix, and probes all other tenants by default', async () => {
    const { probed, set } = await probe();
    expect(probed).toEqual([
      { segment: 'tenant=b', queries: 3, prefix: 'b/', ids: 0 },
      { segment: 'tenant=c', queries: 3, prefix: null, ids: 8 },
    ]);
    const queries = await createGoldenSets(database.pool).queries(set.name, set.version);
    const named = queries.filter(({ forbidden = [] }) => forbidden.length === 8);
    expect(named).toHaveLength(3);
    expect(named.every(({ forbidden = [] }) => forbids(forbidden, 'shared-of-all') === null)).toBe(true);
  });

  it('adds to an existing set without repeating a document for the same tenant', async () => {
    await probe({ forbid: ['tenant=b'], questions: 8 });
    const { set } = await probe({ segment: 'tenant=b', forbid: ['tenant=a'], questions: 8 });
    expect(set).toMatchObject({ version: 2, queries: 16, origin: 'generated' });
    expect((await probe({ forbid: ['tenant=b'], questions: 8 })).set.queries).toBe(16);
  });

  it.each([
    [
      'an unknown segment',
      { segment: 'tenant=x' },
      /has no segment "tenant=x"\. Known segments: tenant=a, tenant=b, tenant=c/,
    ],
    ['a segment without a value', { segment: 'a' }, /"a" does not have the form key=value/],
    ['a segment against itself', { forbid: ['tenant=a'] }, /its documents cannot be forbidden/],
    ['a pipeline whose manifest was not read', { pipeline: 'other' }, /recalld index check --pipeline other/],
  ])('rejects %s', async (_, options, sentence) => {
    await expect(probe(options)).rejects.toThrow(sentence);
  });

  it('names the missing setting when the store returns no texts', async () => {
    world.store.hold(world.lines.map(({ id }) => chunkOf(id, { content: null })));
    await expect(probe()).rejects.toThrow(/no text for any sampled document .* Set vector_store.content/);
  });
});
