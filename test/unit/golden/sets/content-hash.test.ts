import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecalldError } from '../../../../src/core/errors.ts';
import { fixture, read, readFiles, withFiles } from './golden-files.ts';

const sets = [
  ['BEIR', 'beir', ['queries.jsonl', 'qrels/test.tsv', 'corpus.jsonl'], '.'],
  ['TREC', 'trec', ['queries.tsv', 'qrels.txt'], '.'],
  ['CSV', '.', ['support.csv'], 'support.csv'],
  ['JSONL', '.', ['support.jsonl'], 'support.jsonl'],
] as const;

describe.each(sets)('the content hash of %s', (_, folder, names, path) => {
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(fixture(folder), name))]));

  it('is the same for the same bytes, in any folder', async () => {
    const [first, second] = await Promise.all([readFiles(files, path), readFiles(files, path)]);
    expect(second.contentHash).toBe(first.contentHash);
    expect(first.contentHash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('changes with any single byte of any file, if the file can still be read', async () => {
    const { contentHash } = await readFiles(files, path);
    const anyByte = fc
      .constantFrom(...names)
      .chain((name) =>
        fc.tuple(fc.constant(name), fc.nat((files[name]?.length ?? 1) - 1), fc.integer({ min: 1, max: 255 })),
      );
    const hashes = await withFiles(files, async (temporary) => {
      const seen: string[] = [];
      await fc.assert(
        fc.asyncProperty(anyByte, async ([name, offset, mask]) => {
          const original = files[name] ?? Buffer.alloc(0);
          const changed = Buffer.from(original);
          changed.writeUInt8(changed.readUInt8(offset) ^ mask, offset);
          await writeFile(join(temporary, name), changed);
          const outcome = await read(join(temporary, path)).catch((error: unknown) => error);
          await writeFile(join(temporary, name), original);
          if (outcome instanceof RecalldError) return;
          if (outcome instanceof Error) throw outcome;
          expect(outcome).not.toMatchObject({ contentHash });
          if (typeof outcome === 'object' && outcome !== null && 'contentHash' in outcome) {
            seen.push(String(outcome.contentHash));
          }
        }),
        { numRuns: 60 },
      );
      return seen;
    });
    expect(hashes.length).toBeGreaterThan(0);
  });

  it.each(names)('changes when %s gets one more byte', async (name) => {
    const longer = { ...files, [name]: Buffer.concat([files[name] ?? Buffer.alloc(0), Buffer.from('\n')]) };
    const [before, after] = await Promise.all([readFiles(files, path), readFiles(longer, path)]);
    expect(after.queries).toEqual(before.queries);
    expect(after.contentHash).not.toBe(before.contentHash);
  });
});

it('the content hash changes when bytes move from one file to another', async () => {
  const [one, other] = await Promise.all([
    readFiles({ 'qrels.txt': 'q 0 d 1\n', 'queries.tsv': 'q\tWhy?\n\n' }, '.'),
    readFiles({ 'qrels.txt': 'q 0 d 1\n\n', 'queries.tsv': 'q\tWhy?\n' }, '.'),
  ]);
  expect(other.queries).toEqual(one.queries);
  expect(other.contentHash).not.toBe(one.contentHash);
});

it('the content hash does not depend on the names of the files', async () => {
  const [one, other] = await Promise.all([
    readFiles({ 'qrels.txt': 'q 0 d 1\n', 'queries.tsv': 'q\tWhy?\n' }, '.'),
    readFiles({ 'dl.qrels': 'q 0 d 1\n', 'topics.tsv': 'q\tWhy?\n' }, 'dl.qrels'),
  ]);
  expect(other.contentHash).toBe(one.contentHash);
});
