import { expect, it } from 'vitest';
import { documentTexts } from '../../../../src/connectors/stores/document-texts.ts';

const chunk = (id: string, content: string | null) => ({ id, content, version: null });

it('the text of a document joins its chunks, up to a maximum length and without characters that PostgreSQL rejects', () => {
  const chunks = [chunk('a', 'one \0'), chunk('b', 'y'.repeat(30_000)), chunk('a', 'two \ud800'), chunk('c', null)];
  const texts = documentTexts(chunks);
  expect([...texts.keys()]).toEqual(['a', 'b']);
  expect(texts.get('a')).toBe('one \ntwo \ufffd');
  expect(texts.get('b')).toBe('y'.repeat(20_000));
});
