import { expect, it } from 'vitest';
import { readManifestLine } from '../../../../../src/index/truth/rules/manifest-line.ts';

const read = (text: string) => readManifestLine({ file: 'm.jsonl', line: 7, text });

it('reads ids, times, hashes and segments, but no texts', () => {
  const line = {
    id: 42,
    updated_at: '2026-01-31T12:00:00Z',
    hash: 9,
    deleted: true,
    chunks: 3,
    segment: 'acme',
    text: 'secret',
  };
  expect(read(JSON.stringify(line))).toEqual({
    id: '42',
    updatedAt: new Date('2026-01-31T12:00:00Z'),
    hash: '9',
    isDeleted: true,
    chunks: 3,
    segment: 'segment=acme',
  });
  expect(read('{"id": "a", "updated_at": 1, "segment": "tenant=acme"}')).toEqual({
    id: 'a',
    updatedAt: new Date(1000),
    hash: null,
    isDeleted: false,
    chunks: null,
    segment: 'tenant=acme',
  });
});

it.each([
  ['no JSON', 'is not JSON'],
  ['[]', 'is not a JSON object'],
  ['{"id": null}', 'has no "id"'],
  ['{"id": ""}', 'has no "id"'],
  ['{"id": {}}', 'has an invalid "id"; write a string'],
  [`{"id": "${'x'.repeat(1025)}"}`, 'has an invalid "id"; write at most 1024 characters'],
  ['{"id": "a\\u0000"}', 'has an invalid "id"; remove the NUL character'],
  ['{"id": "a", "updated_at": "yesterday"}', 'has an invalid "updated_at"'],
  ['{"id": "a", "deleted": "yes"}', 'has an invalid "deleted"; write true or false'],
  ['{"id": "a", "chunks": -1}', 'has an invalid "chunks"; write a whole number from 0 to 2147483647'],
])('rejects %s, and names the line', (text, problem) => {
  expect(() => read(text)).toThrow(`Line 7 of m.jsonl ${problem}`);
});
