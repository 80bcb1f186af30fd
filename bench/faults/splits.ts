/**
 * The worlds of the splits, which are generated once and stored. The test split differs from the training split in its
 * corpora, its combinations of shape properties and its seeds, so the random properties of each fault differ too. In
 * the split `quiet`, no fault occurs.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { randomNumbers } from '../random-numbers.ts';
import { type FaultKind, type Size, sizes } from './fault.ts';
import type { WorldPlan } from './run-world.ts';
import { materialOf, type Shape } from './shape.ts';

export const splitNames = ['training', 'test', 'quiet'] as const;
export type SplitName = (typeof splitNames)[number];

export interface Split {
  readonly worlds: readonly WorldPlan[];
}

const folder = path.join(import.meta.dirname, 'splits');
/** Returns the path of a split file: `name` itself if it is a path to a JSON file, otherwise the file of this split. */
export const splitFile = (name: string): string => (name.endsWith('.json') ? name : path.join(folder, `${name}.json`));
export const sealFile = path.join(folder, 'SEAL');

const shapes: Readonly<Record<Exclude<SplitName, 'quiet'>, readonly Shape[]>> = {
  training: [
    {
      corpus: 'xquad-en',
      encoder: 'use-lite',
      retriever: 'dense',
      store: 'pgvector',
      golden: 120,
      traffic: 90,
      rated: 0.45,
    },
    {
      corpus: 'xquad-en',
      encoder: 'minilm',
      retriever: 'lexical',
      store: 'lancedb',
      golden: 120,
      traffic: 110,
      rated: 0.4,
    },
    {
      corpus: 'xquad-de',
      encoder: 'minilm',
      retriever: 'dense-rerank',
      store: 'pgvector',
      golden: 400,
      traffic: 100,
      rated: 0.4,
    },
    {
      corpus: 'xquad-en-de',
      encoder: 'minilm',
      retriever: 'dense',
      store: 'lancedb',
      golden: 120,
      traffic: 80,
      rated: 0.5,
    },
    {
      corpus: 'xquad-en',
      encoder: 'minilm',
      retriever: 'dense-rerank',
      store: 'lancedb',
      golden: 40,
      traffic: 70,
      rated: 0.5,
    },
  ],
  test: [
    {
      corpus: 'xquad-es',
      encoder: 'minilm',
      retriever: 'dense-rerank',
      store: 'lancedb',
      golden: 120,
      traffic: 95,
      rated: 0.45,
    },
    {
      corpus: 'limit-small',
      encoder: 'minilm',
      retriever: 'lexical',
      store: 'pgvector',
      golden: 120,
      traffic: 85,
      rated: 0.4,
    },
    {
      corpus: 'xquad-en-es',
      encoder: 'minilm',
      retriever: 'dense',
      store: 'pgvector',
      golden: 120,
      traffic: 105,
      rated: 0.4,
    },
    {
      corpus: 'xquad-en',
      encoder: 'use-lite',
      retriever: 'dense-rerank',
      store: 'pgvector',
      golden: 400,
      traffic: 75,
      rated: 0.5,
    },
    {
      corpus: 'xquad-es',
      encoder: 'minilm',
      retriever: 'lexical',
      store: 'pgvector',
      golden: 40,
      traffic: 90,
      rated: 0.45,
    },
  ],
};

/**
 * Faults that occur together in practice: a repair that breaks something else, a busy machine, a release with two
 * changes.
 */
const pairs: readonly (readonly [string, string])[] = [
  ['lost-by-source', 'slow'],
  ['lost-at-random', 'reranker-reversed'],
  ['lost-at-random', 'generator-worse'],
  ['retriever-failing', 'lost-at-random'],
  ['rate-limited', 'shuffled-results'],
  ['timeouts', 'rechunked'],
  ['live-only-errors', 'fewer-results'],
  ['uncovered-topic', 'retriever-failing'],
  ['starved-machine', 'lost-by-source'],
  ['updates-late', 'shuffled-results'],
  ['ids-renamed', 'slow'],
  ['live-only-errors', 'lost-topic'],
  ['wrong-filter', 'timeouts'],
  ['new-documents-late', 'unauthorised'],
];

/** Number of worlds without a fault for each shape; those of the split `quiet` add up to at least a hundred days. */
const QUIET = { training: 4, test: 4, quiet: 40 } as const;

/**
 * Generates the worlds of a split: every kind of fault in every size, pairs of faults, and worlds without a fault. The
 * split `quiet` has only worlds without a fault.
 */
export function drawSplit(name: SplitName, seed: number, kinds: ReadonlyMap<string, FaultKind>): Split {
  const random = randomNumbers(seed);
  const own = shapes[name === 'quiet' ? 'test' : name];
  const shapeFor = (names: readonly string[]): Shape | null => {
    const fitting = own.filter((shape) =>
      names.every((one) => kinds.get(one)?.fits?.(materialOf(shape)) ?? kinds.has(one)),
    );
    return fitting[random.below(Math.max(1, fitting.length))] ?? null;
  };
  const worlds: WorldPlan[] = [];
  const add = (names: readonly string[], size: () => Size, shape = shapeFor(names)): void => {
    if (shape === null) return;
    const faults = names.map((kind) => ({ kind, size: size() }));
    const id = `${faults.map(({ kind, size: drawn }) => `${kind}-${drawn}`).join('+')}-${worlds.length + 1}`;
    worlds.push({ id, seed: random.below(1_000_000), shape, faults });
  };
  const large = (): Size => (random.uniform() < 0.5 ? 'medium' : 'large');
  for (const { name: kind } of name === 'quiet' ? [] : kinds.values()) {
    if (kind === 'quiet') continue;
    for (const size of sizes) add([kind], () => size);
  }
  for (const pair of name === 'quiet' ? [] : pairs) add(pair, large);
  for (const shape of own) for (let at = 0; at < QUIET[name]; at++) add(['quiet'], () => 'small', shape);
  return { worlds };
}

/** Writes one world per line, so that a diff shows which worlds changed. */
export function writeText({ worlds }: Split): string {
  return `{"worlds": [\n${worlds.map((world) => JSON.stringify(world)).join(',\n')}\n]}\n`;
}

export function readSplit(name: string): Split {
  return JSON.parse(readFileSync(splitFile(name), 'utf8')) as Split;
}

export function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
