import { expect, it } from 'vitest';
import { createGoldenDocuments } from '../../../../src/golden/sql/golden-sets.ts';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';
import { hours } from '../../../support/measurements.ts';

const database = useDatabase();

it('the table returns the newest text of each judged document of a pipeline', async () => {
  const documents = createGoldenDocuments(database.pool);
  await documents.record('docs', new Map([['a', 'old']]), NOON);
  const texts = new Map([
    ['a', 'new \u{1F600}'],
    ['b', 'yes'],
  ]);
  await documents.record('docs', texts, NOON);
  await documents.record('other', new Map([['a', 'elsewhere']]), NOON);
  const seen = await documents.seen('docs', ['a', 'b', 'c']);
  expect([...seen.keys()].toSorted()).toEqual(['a', 'b']);
  expect(seen.get('a')).toEqual({ content: 'new \u{1F600}', seenAt: NOON });
  await documents.record('docs', new Map(), NOON);
});

it('the table keeps the text from before the last change', async () => {
  const documents = createGoldenDocuments(database.pool);
  const textAt = async (hour: number) => (await documents.textsAt('changing', ['a', 'b'], hours(hour))).get('a');
  await documents.record('changing', new Map([['a', 'first']]), hours(0));
  await documents.record('changing', new Map([['a', 'first']]), hours(1));
  expect(await textAt(0)).toBe('first');
  await documents.record('changing', new Map([['a', 'second']]), hours(2));
  await documents.record('changing', new Map([['a', 'second']]), hours(3));
  expect([await textAt(1), await textAt(2)]).toEqual(['first', 'second']);
});
