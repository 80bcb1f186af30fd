import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { readDemoDocuments } from '../../../src/demo/rag/corpus.ts';
import { chooseDroppedIds, cutInTwo } from '../../../src/demo/rag/fault.ts';

const uniqueIds = fc.uniqueArray(fc.string(), { maxLength: 60 });

it('drops the same third of the ids, whatever their order', () => {
  fc.assert(
    fc.property(uniqueIds, fc.integer(), (ids, seed) => {
      const dropped = chooseDroppedIds(ids, seed);
      expect(dropped).toHaveLength(Math.floor(ids.length / 3));
      expect(new Set(dropped).size).toBe(dropped.length);
      expect(ids).toEqual(expect.arrayContaining(dropped));
      expect(chooseDroppedIds(ids.toReversed(), seed)).toEqual(dropped);
    }),
  );
});

it('drops 80 of the 240 demo documents across articles, and different ones for another seed', async () => {
  const ids = (await readDemoDocuments()).map((document) => document.id);
  const dropped = chooseDroppedIds(ids);
  expect(dropped).toHaveLength(80);
  expect(new Set(dropped.map((id) => id.split('/')[0])).size).toBeGreaterThan(35);
  expect(chooseDroppedIds(ids, 2)).not.toEqual(dropped);
});

it('splits every demo document into two halves that contain all of its words', async () => {
  for (const document of await readDemoDocuments()) {
    const halves = cutInTwo(document);
    expect(halves.map(({ text }) => text).join(' ')).toBe(document.text);
    expect(halves.map(({ id }) => id)).toEqual([`${document.id}-1`, `${document.id}-2`]);
    expect(halves.every(({ text }) => text.split(' ').length >= 3)).toBe(true);
  }
});
