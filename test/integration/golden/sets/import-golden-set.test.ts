import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { importGoldenQueries } from '../../../../src/golden/sets/import-golden-set.ts';
import { createGoldenSets } from '../../../../src/golden/sql/golden-sets.ts';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';

const one = {
  id: 'q1',
  text: 'How do I pay?',
  tags: { language: 'en', area: 'billing' },
  relevant: ['d1', 'd2'],
};

const database = useDatabase();
let imported = 0;

async function importAll(...lists: readonly (readonly unknown[])[]) {
  const sets = createGoldenSets(database.pool);
  const name = `faq ${(imported += 1)}`;
  const versions: number[] = [];
  for (const list of lists) versions.push((await importGoldenQueries(sets, name, [list], NOON)).set.version);
  return versions;
}

it('the same queries never create a new version, however their JSON is written', async () => {
  const otherwise = {
    judgments: [{ document_id: 'd1' }, { document_id: 'd2', grade: 1 }],
    tags: { area: 'billing', language: 'en' },
    question: ' How do I pay? ',
    id: 'q1',
  };
  expect(await importAll([one], [otherwise], [one])).toEqual([1, 1, 1]);
});

it('an import warns of queries whose texts the new version cuts off', async () => {
  const sets = createGoldenSets(database.pool);
  const two = { ...one, id: 'q2', text: 'Where do I pay?' };
  await importGoldenQueries(sets, 'cut off', [[one, two]], NOON);
  const imported = await importGoldenQueries(sets, 'cut off', [[{ ...one, text: 'How do I' }, two]], NOON);
  expect(imported.warnings).toEqual([
    'Queries whose texts are only the beginnings of their texts in version 1: 1 (first: q1). Check whether a length limit cut the texts off.',
  ]);
});

it.each([
  ['id', { ...one, id: 'q2' }],
  ['text', { ...one, text: 'How do I pay again?' }],
  ['tag', { ...one, tags: { language: 'de', area: 'billing' } }],
  ['document', { ...one, relevant: ['d1', 'd3'] }],
  ['grade', { ...one, relevant: undefined, judgments: { d1: 1, d2: 2 } }],
])('a changed %s creates a new version', async (_, changed) => {
  expect(await importAll([one], [JSON.parse(JSON.stringify(changed))])).toEqual([1, 2]);
});

it('nothing is stored when one query of the list cannot be read', async () => {
  const sets = createGoldenSets(database.pool);
  await fc.assert(
    fc.asyncProperty(
      fc.jsonValue().filter((value) => !Array.isArray(value)),
      async (value) => {
        await expect(importGoldenQueries(sets, 'unread', [[one, value]], NOON)).rejects.toMatchObject({
          code: 'file_malformed',
          message: expect.stringMatching(/^Line 2 of queries /) as string,
        });
      },
    ),
  );
  expect(await sets.latest('unread')).toBeNull();
});
