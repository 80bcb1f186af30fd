import { describe, expect, it } from 'vitest';
import { createGoldenDocuments } from '../../../../src/golden/sql/golden-sets.ts';
import { NOON } from '../../../support/builders.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();

describe('the texts of judged documents', () => {
  it('are stored by pipeline: the newest text of each document, up to a maximum length, with any characters', async () => {
    const documents = createGoldenDocuments(database.pool);
    await documents.record('docs', [{ documentId: 'a', content: 'old' }], NOON);
    await documents.record(
      'docs',
      [
        { documentId: 'a', content: 'new \u{1F600}\0' },
        { documentId: 'b', content: 'x'.repeat(30_000) },
        { documentId: 'b', content: 'y'.repeat(30_000) },
      ],
      NOON,
    );
    await documents.record('other', [{ documentId: 'a', content: 'elsewhere' }], NOON);
    const seen = await documents.seen('docs', ['a', 'b', 'c']);
    expect([...seen.keys()].toSorted()).toEqual(['a', 'b']);
    expect(seen.get('a')).toEqual({ content: 'new \u{1F600}', seenAt: NOON });
    expect(seen.get('b')?.content).toBe('y'.repeat(20_000));
    await documents.record('docs', [], NOON);
  });
});
