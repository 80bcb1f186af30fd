/**
 * Tests `recalld drift` as a user runs it: exit codes, a single JSON document, and an error of one sentence for an
 * invalid file.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { npyBytes } from '../support/npy.ts';
import { aFolder, runRecalld } from '../support/recalld.ts';

type Rows = readonly (readonly number[])[];

/** Returns unit vectors in the plane, evenly spaced between two angles. */
function fan(count: number, from: number, to: number): number[][] {
  return Array.from({ length: count }, (_, i) => {
    const angle = from + ((to - from) * i) / (count - 1);
    return [Math.cos(angle), Math.sin(angle)];
  });
}

const STORE = fan(200, 0, 1);
const REFERENCE = fan(300, -0.2, 1.2);
const FILES = ['--store', 'store.npy', '--reference', 'reference.npy', '--current', 'current.jsonl'];

async function aFolderWith(current: string, store: Buffer = npyBytes(STORE)): Promise<string> {
  const folder = await aFolder({ 'current.jsonl': current });
  await writeFile(path.join(folder, 'store.npy'), store);
  await writeFile(path.join(folder, 'reference.npy'), npyBytes(REFERENCE, '<f8'));
  return folder;
}

const lines = (rows: Rows): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');

describe('recalld drift', () => {
  it('exits with 0 and prints one JSON document if queries are covered as well as the baseline', async () => {
    const folder = await aFolderWith(lines(fan(250, -0.2, 1.2)));
    const { code, stdout, stderr } = await runRecalld(['drift', ...FILES, '--json'], folder);
    expect(JSON.parse(stdout)).toMatchObject({
      score_name: 'top-1-less-mean',
      counts: { store: 200, reference: 300, current: 250 },
      verdict: 'not_worse',
    });
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it('exits with 1 and reports worse coverage first if the store does not cover the queries', async () => {
    const folder = await aFolderWith(lines(fan(250, 1, 3)));
    const { code, stdout } = await runRecalld(['drift', ...FILES], folder);
    expect(stdout).toMatch(/^Coverage is worse\. Query density 0\./);
    expect(code).toBe(1);
  });

  const good = lines(fan(20, 0, 1));
  const whole = npyBytes(STORE);
  it.each([
    ['a truncated file', good, whole.subarray(0, whole.length - 3), /^recalld: store\.npy is truncated; /],
    ['a file that is .npy only by name', good, Buffer.from('no array'), /^recalld: store\.npy is not a \.npy file; /],
    ['a zero vector', `${good}[0, 0]\n`, whole, /^recalld: Line 21 of current\.jsonl has a zero vector, /],
    ['NaN', `${good}[NaN, 0]\n`, whole, /^recalld: Line 21 of current\.jsonl has NaN or an infinity; /],
    [
      'rows of different lengths',
      `${good}[1]\n`,
      whole,
      /^recalld: Line 21 of current\.jsonl has 1 number, but line 1 has 2; /,
    ],
    [
      'another dimension',
      '[1]\n[2]\n',
      whole,
      /^recalld: current\.jsonl has 1-dimensional vectors, but those in store\.npy have 2 dimensions; /,
    ],
    [
      'a truncated line',
      '[1, 2]\n[3,',
      whole,
      /^recalld: Line 2 of current\.jsonl is not a single complete JSON array/,
    ],
  ])('explains %s in one sentence and exits with 2', async (_what, current, store, says) => {
    const { code, stdout, stderr } = await runRecalld(['drift', ...FILES], await aFolderWith(current, store));
    expect(stderr).toMatch(says);
    expect(stderr.trimEnd()).not.toContain('\n');
    expect(code).toBe(2);
    expect(stdout).toBe('');
  });

  it('exits with 2 if a required option is missing', async () => {
    const { code, stderr } = await runRecalld(['drift', '--store', 'a.npy'], await aFolder());
    expect(stderr).toContain("required option '--reference <file>' not specified");
    expect(code).toBe(2);
  });
});
