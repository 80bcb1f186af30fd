/**
 * The faults of a world. Each file in `kinds` defines the effects of one kind of fault, but not how recalld detects
 * them.
 */

import { hashText } from '../../src/demo/rag/hashed-tfidf.ts';
import type { Cause } from '../../src/incidents/diagnosis/rules/cause.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Asked, Search } from './search.ts';
import type { Material, Query, Row } from './shape.ts';
import type { VectorOf } from './vectors.ts';

export const sizes = ['small', 'medium', 'large'] as const;
export type Size = (typeof sizes)[number];

/** Response of the service to one call. */
export type Reply =
  | { readonly kind: 'hits'; readonly hits: ReturnType<Search>; readonly latencyMs: number }
  /** Sends `body` unchanged, with the status. */
  | { readonly kind: 'body'; readonly status: number; readonly body: string; readonly latencyMs: number };

export type Call = (asked: Asked) => Reply;

/** A live query before it is sent. */
export interface LiveAsk {
  readonly query: Query;
  readonly text: string;
}

/** A query of a golden set. */
export interface GoldenLine {
  readonly id: string;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly relevant: readonly string[];
}

/** A document in the manifest of the index. */
export interface ManifestLine {
  readonly id: string;
  readonly hash: string;
  readonly updated_at: string;
  readonly deleted?: boolean;
}

export interface Since {
  /** Minutes since the onset of the fault. */
  readonly minutes: number;
}

/** Effects of a fault; missing fields have no effect. */
export interface Condition {
  /** Returns the rows in the store, given its previous rows. */
  readonly rows?: (rows: readonly Row[], since: Since) => readonly Row[];
  /** True if the result of `rows` changes over time. */
  readonly goesOn?: boolean;
  /**
   * Returns the manifest after the owner has written, changed or deleted documents; the store itself changes only
   * through `rows`.
   */
  readonly manifest?: (lines: readonly ManifestLine[], now: Date) => readonly ManifestLine[];
  /** Ids of documents that their owners withdrew on purpose; these documents no longer count as relevant. */
  readonly withdrawn?: ReadonlySet<string>;
  /** Returns the embedder of the service, given the healthy embedder; recalld uses the returned embedder too. */
  readonly embed?: (embed: VectorOf) => VectorOf;
  readonly search?: (search: Search) => Search;
  /** Changes the outcome of a call: a failure, a delay or another body. */
  readonly call?: (call: Call) => Call;
  /** Returns the users' live queries under the fault, given those of a healthy world. */
  readonly traffic?: (draw: () => LiveAsk) => () => LiveAsk;
  /** Factor by which the number of live queries changes. */
  readonly volume?: number;
  /** Changes the probability that a user who rates an answer rates it positively. */
  readonly opinion?: (likes: (found: boolean) => number) => (found: boolean) => number;
  /** Returns a new version of the golden set. */
  readonly golden?: (lines: readonly GoldenLine[]) => readonly GoldenLine[];
  /** Deployments that are recorded when the fault begins. */
  readonly deployments?: readonly {
    readonly kind: 'index' | 'embedder' | 'retriever' | 'golden';
    readonly version: string;
  }[];
  /** Effects on recalld itself: how long its event loop blocks at a time, and whether it never starts golden runs. */
  readonly daemon?: { readonly stallMs?: number; readonly skipsGolden?: boolean };
}

export interface Draw {
  readonly size: Size;
  readonly random: RandomNumbers;
  readonly material: Material;
}

export interface FaultKind {
  /** Name of its file. */
  readonly name: string;
  /** The effect, as a sentence without a period, such as "half of the documents vanish". */
  readonly title: string;
  /**
   * Right causes, best first; `unknown` if no cause in the list is right. The list is empty if the change is harmless.
   */
  readonly causes: readonly Cause[];
  /** Returns true if the fault can occur in a shape; if absent, the fault can occur in every shape. */
  readonly fits?: (material: Material) => boolean;
  /** Number of golden runs after the onset that cannot show the fault yet. */
  readonly lateRuns?: number;
  readonly begin: (draw: Draw) => Condition;
}

export function bySize<Value>(size: Size, small: Value, medium: Value, large: Value): Value {
  return { small, medium, large }[size];
}

/** Returns a random number near `value`, so that worlds differ. */
export function around(random: RandomNumbers, value: number): number {
  return value * (0.8 + 0.4 * random.uniform());
}

/** Returns randomly chosen items: a share `share` of all items, but at least one item. */
export function some<Item>(items: readonly Item[], share: number, random: RandomNumbers): Item[] {
  const keyed = items.map((item) => ({ item, key: random.uniform() })).toSorted((a, b) => a.key - b.key);
  return keyed.slice(0, Math.max(1, Math.round(share * items.length))).map(({ item }) => item);
}

/**
 * Returns a function that decides whether a fault affects a text. The returned function is true for a fraction `share`
 * of all texts, and always returns the same result for the same text.
 */
export function someTexts(random: RandomNumbers, share: number): (text: string) => boolean {
  const seed = random.below(1e9);
  return (text) => hashText(text, seed) / 2 ** 32 < share;
}

/** Combines several conditions; each function receives what the same function of the previous condition returned. */
export function together(conditions: readonly Condition[]): Condition {
  type Wrap<Value> = (value: Value) => Value;
  const chain = <Value>(wraps: readonly (Wrap<Value> | undefined)[]): Wrap<Value> => {
    const there = wraps.filter((wrap) => wrap !== undefined);
    return (value) => there.reduce((so, wrap) => wrap(so), value);
  };
  const rows: Condition['rows'] = (before, since) =>
    conditions.reduce((so, one) => one.rows?.(so, since) ?? so, before);
  const manifest: Condition['manifest'] = (before, now) =>
    conditions.reduce((so, one) => one.manifest?.(so, now) ?? so, before);
  const changesGolden = conditions.some(({ golden }) => golden !== undefined);
  return {
    ...(conditions.some((one) => one.rows !== undefined) ? { rows } : {}),
    goesOn: conditions.some(({ goesOn }) => goesOn === true),
    manifest,
    withdrawn: new Set(conditions.flatMap(({ withdrawn = [] }) => [...withdrawn])),
    embed: chain(conditions.map(({ embed }) => embed)),
    search: chain(conditions.map(({ search }) => search)),
    call: chain(conditions.map(({ call }) => call)),
    traffic: chain(conditions.map(({ traffic }) => traffic)),
    volume: conditions.reduce((product, { volume = 1 }) => product * volume, 1),
    opinion: chain(conditions.map(({ opinion }) => opinion)),
    ...(changesGolden ? { golden: chain(conditions.map(({ golden }) => golden)) } : {}),
    deployments: conditions.flatMap(({ deployments = [] }) => deployments),
    daemon: Object.assign({}, ...conditions.map(({ daemon }) => daemon)),
  };
}
