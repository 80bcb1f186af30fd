import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { contentId } from '../../../../src/core/text/content-id.ts';

interface Vector {
  readonly name: string;
  readonly text: string;
  readonly id: string | null;
}

/** Generated with Python's hashlib and unicodedata; the Python client is tested with the same file. */
const file = path.resolve(import.meta.dirname, '../../../fixtures/content-ids.json');
const vectors = JSON.parse(readFileSync(file, 'utf8')) as Vector[];

it.each(vectors)('the id of a text has the value that Python computes: $name', ({ text, id }) => {
  expect(contentId(text)).toBe(id);
});

it('the id of a text is equal for texts that differ only in white space or Unicode composition', () => {
  const ids = (...names: string[]) => vectors.filter(({ name }) => names.includes(name)).map(({ id }) => id);
  expect(new Set(ids('plain', 'the same with other white space')).size).toBe(1);
  expect(new Set(ids('composed', 'decomposed, as some editors write it')).size).toBe(1);
  expect(new Set(ids('plain', 'case counts')).size).toBe(2);
});
