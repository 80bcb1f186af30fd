import { array, assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoted, tableParts } from '../../../../src/stores/pgvector/table.ts';

describe('the name of a table', () => {
  it.each([
    ['chunks', ['chunks']],
    ['Chunks', ['Chunks']],
    ['rag.chunks', ['rag', 'chunks']],
    ['"a.b"."say ""hi"""', ['a.b', 'say "hi"']],
    [' my table ', ['my table']],
    ['', null],
    ['a.b.c', null],
    ['a..b', null],
    ['a.', null],
    ['"a', null],
    ['"a"b', null],
    ['a"b', null],
  ])('%j has the parts %j', (name, parts) => {
    expect(tableParts(name)).toEqual(parts);
  });

  it('comes back from its quoted form, whatever is in it', () => {
    const part = string({ minLength: 1 });
    assert(
      property(array(part, { minLength: 1, maxLength: 2 }), (parts) => {
        expect(tableParts(parts.map(quoted).join('.'))).toEqual(parts);
      }),
    );
  });
});
