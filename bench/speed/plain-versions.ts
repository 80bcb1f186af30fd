/**
 * Compares code that was optimized by hand with its plain version. An optimization stays in the program only if it
 * makes the code at least 1.5 times as fast.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { dotProducts, inverseLengths, type Matrix } from '../../src/math/vector/matrix.ts';
import { type Neighbours, nearestNeighbours } from '../../src/math/vector/nearest-neighbours.ts';
import { nearestDirections } from '../../src/math/vector/spherical-k-means.ts';
import { randomNumbers } from '../random-numbers.ts';
import { program, withFolder } from './child.ts';
import { randomMatrix } from './drift-pass.ts';
import { writeTrecFiles } from './evaluation-of-files.ts';
import { alternate, type Bar, type Figure, figure, type MeasureRow } from './row.ts';

const LEAST_GAIN = 1.5;

/** Unit of the measured times. Other processes on the machine do not affect CPU time. */
const unit = 'ms of CPU time';

interface Pair {
  readonly figures: readonly Figure[];
  readonly bar: Bar;
}

export const plainVersions: MeasureRow = async (quick) => {
  const pairs = [
    await neighbours(quick),
    await regions(quick),
    await evaluations(quick, false),
    await evaluations(quick, true),
  ];
  return {
    row: 'plain versions',
    name: 'plain-versions',
    figures: pairs.flatMap(({ figures }) => figures),
    bars: pairs.map(({ bar }) => bar),
    notes: [
      "The benchmark compares recalld's WebAssembly with plain JavaScript (float64, in tiles of 2 x 4 rows), and its reader of TREC files, which reads bytes, with a plain reader, which splits lines and columns into strings. Both versions must return the same result.",
    ],
  };
};

function pair(what: string, [own, plain]: readonly [string, string], ms: Readonly<Record<string, number[]>>): Pair {
  const figures = [
    figure(`${what}: ${own}`, unit, ms['own'] ?? []),
    figure(`${what}: ${plain}`, unit, ms['plain'] ?? []),
  ] as const;
  const value = figures[1].median / figures[0].median;
  return {
    figures,
    bar: { what: `${what}: plain, relative to ${own}`, value, side: 'at least', limit: LEAST_GAIN, unit: 'times' },
  };
}

function spent(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function refuseOther(what: string, own: unknown, plain: unknown): void {
  if (JSON.stringify(own) !== JSON.stringify(plain)) throw new Error(`${what}: the two versions differ`);
}

const kernels = ['WebAssembly', 'plain'] as const;

async function neighbours(quick: boolean): Promise<Pair> {
  const [queries, chunks, columns] = quick ? [100, 500, 768] : [200, 5000, 768];
  const [asked, store] = [randomMatrix(queries, columns, 1), randomMatrix(chunks, columns, 2)];
  refuseOther(
    'neighbours',
    [...nearestNeighbours(store, asked, 5).indices],
    [...plainNeighbours(store, asked, 5).indices],
  );
  const ms = await alternate(quick ? 1 : 3, {
    own: () => spent(() => nearestNeighbours(store, asked, 5)),
    plain: () => spent(() => plainNeighbours(store, asked, 5)),
  });
  return pair(`5 nearest of ${chunks} chunks to ${queries} queries, ${columns} dimensions`, kernels, ms);
}

/** Computes all cosines in float64, in blocks. */
function plainNeighbours(store: Matrix, queries: Matrix, k: number): Neighbours {
  const [asked, held] = [directions(queries), directions(store)];
  const { columns } = store;
  const indices = new Uint32Array(queries.rows * k);
  const similarities = new Float64Array(queries.rows * k).fill(Number.NEGATIVE_INFINITY);
  const [queryBlock, storeBlock] = [32, 96];
  const out = new Float64Array(queryBlock * storeBlock);
  for (let q = 0; q < queries.rows; q += queryBlock) {
    const some = Math.min(queryBlock, queries.rows - q);
    for (let s = 0; s < store.rows; s += storeBlock) {
      const rows = Math.min(storeBlock, store.rows - s);
      const right = held.subarray(s * columns, (s + rows) * columns);
      dotProducts(asked.subarray(q * columns, (q + some) * columns), some, right, rows, columns, out);
      for (let i = 0; i < some; i++) {
        for (let j = 0; j < rows; j++) keep(out[i * rows + j] as number, s + j, (q + i) * k);
      }
    }
  }
  return { k, indices, similarities };

  function keep(cosine: number, row: number, best: number): void {
    let place = best + k - 1;
    if (cosine <= (similarities[place] as number)) return;
    for (; place > best && (similarities[place - 1] as number) < cosine; place--) {
      similarities[place] = similarities[place - 1] as number;
      indices[place] = indices[place - 1] as number;
    }
    similarities[place] = cosine;
    indices[place] = row;
  }
}

function directions(matrix: Matrix): Float64Array {
  const scales = inverseLengths(matrix);
  return Float64Array.from(matrix.data, (value, i) => value * (scales[Math.floor(i / matrix.columns)] ?? 0));
}

async function regions(quick: boolean): Promise<Pair> {
  const [queries, columns, count] = [quick ? 100 : 10_000, 1536, 32];
  const rows = randomMatrix(queries, columns, 1);
  const centroids = Float64Array.from(randomMatrix(count, columns, 3).data);
  refuseOther('regions', [...nearestDirections(rows, centroids)], [...plainDirections(rows, centroids)]);
  const ms = await alternate(quick ? 1 : 3, {
    own: () => spent(() => nearestDirections(rows, centroids)),
    plain: () => spent(() => plainDirections(rows, centroids)),
  });
  return pair(`the nearest of ${count} regions to ${queries} queries, ${columns} dimensions`, kernels, ms);
}

function plainDirections(rows: Matrix, centroids: Float64Array): Int32Array {
  const { columns } = rows;
  const count = centroids.length / columns;
  const block = 64;
  const [left, out] = [new Float64Array(block * columns), new Float64Array(block * count)];
  const labels = new Int32Array(rows.rows);
  for (let from = 0; from < rows.rows; from += block) {
    const some = Math.min(block, rows.rows - from);
    left.set(rows.data.subarray(from * columns, (from + some) * columns));
    dotProducts(left, some, centroids, count, columns, out);
    for (let i = 0; i < some; i++) {
      let best = Number.NEGATIVE_INFINITY;
      for (let j = 0; j < count; j++) {
        const product = out[i * count + j] as number;
        if (!(product > best)) continue;
        best = product;
        labels[from + i] = j;
      }
    }
  }
  return labels;
}

const rounded = (means: readonly number[]): string[] => means.map((mean) => mean.toFixed(12));

function evaluations(quick: boolean, isShuffled: boolean): Promise<Pair> {
  return withFolder(async (folder) => {
    const size = quick ? 200 : 10_000;
    const { qrels, results, metrics } = writeTrecFiles(folder, size);
    if (isShuffled) shuffleLines(results);
    const script = path.join(import.meta.dirname, 'plain-evaluation.mjs');
    const dist = path.resolve(path.dirname(program), '..');
    const evaluate = (reader: 'bytes' | 'plain'): { readonly means: readonly number[]; readonly ms: number } =>
      JSON.parse(execFileSync(process.execPath, [script, dist, reader, qrels, results, metrics], { encoding: 'utf8' }));
    refuseOther('evaluations', rounded(evaluate('bytes').means), rounded(evaluate('plain').means));
    const ms = await alternate(quick ? 1 : 3, {
      own: () => evaluate('bytes').ms,
      plain: () => evaluate('plain').ms,
    });
    const order = isShuffled ? 'lines in random order' : 'lines sorted by query';
    return pair(`evaluation of ${size} queries x 100 results, ${order}`, ['reading bytes', 'plain'], ms);
  });
}

function shuffleLines(file: string): void {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const random = randomNumbers(7);
  for (let i = lines.length - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [lines[i], lines[other]] = [lines[other] as string, lines[i] as string];
  }
  writeFileSync(file, `${lines.join('\n')}\n`);
}
