/**
 * Simulates stores in which a share of the documents is wrong in one way, and the daemon's verdict on each document.
 */
import { isOfOtherModel, isSuperseded } from '../../src/index/truth/rules/findings.ts';
import type { RandomNumbers } from '../random-numbers.ts';

/** A document, or a chunk if chunks are sampled. */
export interface Item {
  readonly isWrong: boolean;
  /** True if a single probe finds that the item is wrong. */
  readonly isFound: boolean;
}

export interface StoreWorld {
  readonly measure: string;
  /** Describes the probes, for example `200 documents a round`. */
  readonly scope: string;
  /** Number of items probed per hour. */
  readonly probe: number;
  readonly looksTwice: boolean;
  /** True if the probes of a day are combined. */
  readonly isOfDay: boolean;
  /** True if an alert depends on the measure. */
  readonly pages: boolean;
  /** Share of the benchmark's days that are simulated for this world; lower for slow worlds. */
  readonly daysOfAll: number;
  readonly fill: (count: number, share: number, random: RandomNumbers) => readonly Item[];
}

const filled = (count: number, share: number, run: (isWrong: boolean) => boolean): readonly Item[] =>
  Array.from({ length: count }, (_, place) => {
    const isWrong = place < count * share;
    return { isWrong, isFound: run(isWrong) };
  });

const words = (count: number, random: RandomNumbers): string[] =>
  Array.from({ length: count }, () => `w${random.below(5000)}`);

const WINDOW = 80;
const OVERLAP = 16;
const CHANGED = 10;

/**
 * Returns true if recalld finds chunks of two versions in a document, which consists of two to eight overlapping
 * windows under one heading. For a wrong document, a window of its previous version is still in the store.
 */
function windowed(isWrong: boolean, random: RandomNumbers): boolean {
  const count = 2 + random.below(7);
  const text = words(WINDOW + (count - 1) * (WINDOW - OVERLAP), random);
  const heading = words(10, random);
  const chunkOf = (own: readonly string[], at: number): string =>
    [...heading, ...own.slice(at * (WINDOW - OVERLAP), at * (WINDOW - OVERLAP) + WINDOW)].join(' ');
  const contents = Array.from({ length: count }, (_, at) => chunkOf(text, at));
  if (isWrong) {
    const at = random.below(count);
    const from = at * (WINDOW - OVERLAP) + random.below(WINDOW - CHANGED);
    contents.push(chunkOf([...text.slice(0, from), ...words(CHANGED, random), ...text.slice(from + CHANGED)], at));
  }
  return (
    isSuperseded(
      contents.map((content) => ({ version: null, content })),
      null,
    ) === true
  );
}

const DIMENSIONS = 16;
const vector = (random: RandomNumbers): Float32Array =>
  Float32Array.from({ length: DIMENSIONS }, () => random.normal());
const near = (one: Float32Array, spread: number, random: RandomNumbers): Float32Array =>
  one.map((value) => value + spread * random.normal());

/** Deviation that 8-bit quantization causes in a stored vector, as a share of the vector's length. */
const KEPT = 0.01;

/**
 * Returns true if two probes both find that the stored vector comes from another model; each probe embeds the text
 * twice. The noise of the embedder is larger for some texts.
 */
function embeddedAgain(isWrong: boolean, noise: number, random: RandomNumbers): boolean {
  const own = vector(random);
  const stored = near(isWrong ? vector(random) : own, KEPT, random);
  const spread = noise * Math.exp(random.normal() / 2);
  const run = (): boolean =>
    isOfOtherModel({ stored, again: near(own, spread, random), repeated: near(own, spread, random) }, 0.98);
  return run() && run();
}

const looked = { probe: 200, looksTwice: true, isOfDay: false, pages: true, daysOfAll: 1 } as const;
const exact: StoreWorld['fill'] = (count, share) => filled(count, share, (isWrong) => isWrong);
const embedded =
  (noise: number): StoreWorld['fill'] =>
  (count, share, random) =>
    filled(count, share, (isWrong) => embeddedAgain(isWrong, noise, random));

export const storeWorlds: readonly StoreWorld[] = [
  { measure: 'index_missing_ratio', scope: '200 documents a round', ...looked, fill: exact },
  { measure: 'index_orphaned_ratio', scope: '200 chunks an hour', ...looked, fill: exact },
  {
    measure: 'index_superseded_ratio',
    scope: '200 documents a round, by version',
    ...looked,
    fill: (count, share) =>
      filled(count, share, (isOld) => {
        const chunks = [{ version: 'v2', content: null }, ...(isOld ? [{ version: 'v1', content: null }] : [])];
        return isSuperseded(chunks, null) === true;
      }),
  },
  {
    measure: 'index_superseded_ratio',
    scope: '200 documents a round, by text',
    ...looked,
    daysOfAll: 0.3,
    fill: (count, share, random) => filled(count, share, (isOld) => windowed(isOld, random)),
  },
  {
    measure: 'index_not_retrievable_ratio',
    scope: '20 documents a round',
    ...looked,
    probe: 20,
    looksTwice: false,
    isOfDay: true,
    pages: false,
    fill: exact,
  },
  {
    measure: 'index_other_model_ratio',
    scope: '8 chunks an hour',
    ...looked,
    probe: 8,
    isOfDay: true,
    fill: embedded(0),
  },
  {
    measure: 'index_other_model_ratio',
    scope: '8 chunks an hour, repeated embeddings have a cosine of 0.99',
    ...looked,
    probe: 8,
    isOfDay: true,
    fill: embedded(0.1),
  },
  {
    measure: 'index_other_model_ratio',
    scope: '200 chunks an hour',
    ...looked,
    isOfDay: true,
    daysOfAll: 0.3,
    fill: embedded(0.1),
  },
];
