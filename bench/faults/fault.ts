/**
 * What can be wrong with a world. A kind of fault is one file in `kinds`: it says what is different while it lasts, and
 * nothing of how recalld sees that.
 */

import { hashText } from '../../src/demo/rag/hashed-tfidf.ts';
import type { Cause } from '../../src/incidents/diagnosis/rules/cause.ts';
import type { RandomNumbers } from '../random-numbers.ts';
import type { Asked, Search } from './search.ts';
import type { Material, Query, Row } from './shape.ts';
import type { VectorOf } from './vectors.ts';

export const sizes = ['small', 'medium', 'large'] as const;
export type Size = (typeof sizes)[number];

/** What the service sends back for one call. */
export type Reply =
  | { readonly kind: 'hits'; readonly hits: ReturnType<Search>; readonly latencyMs: number }
  /** `body` is sent as it is, with the status. */
  | { readonly kind: 'body'; readonly status: number; readonly body: string; readonly latencyMs: number };

export type Call = (asked: Asked) => Reply;

/** A live query before it is asked. */
export interface LiveAsk {
  readonly query: Query;
  readonly text: string;
}

/** What a golden set holds of a query. */
export interface GoldenLine {
  readonly id: string;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly relevant: readonly string[];
}

/** A document as the manifest of the index has it. */
export interface ManifestLine {
  readonly id: string;
  readonly hash: string;
  readonly updated_at: string;
  readonly deleted?: boolean;
}

export interface Since {
  /** Since the onset. */
  readonly minutes: number;
}

/** Everything that is different while a fault lasts; what is left out is as before. */
export interface Condition {
  /** What the store holds, of what it held before. */
  readonly rows?: (rows: readonly Row[], since: Since) => readonly Row[];
  /** True where `rows` changes with time. */
  readonly goesOn?: boolean;
  /** Documents that their owner wrote, changed or deleted; the store has them only by `rows`. */
  readonly manifest?: (lines: readonly ManifestLine[], now: Date) => readonly ManifestLine[];
  /** How the service embeds queries; the embedder that recalld asks is the same one. */
  readonly embed?: (embed: VectorOf) => VectorOf;
  readonly search?: (search: Search) => Search;
  /** What a call comes to: failures, delays, other bodies. */
  readonly call?: (call: Call) => Call;
  /** What users ask. */
  readonly traffic?: (draw: () => LiveAsk) => () => LiveAsk;
  /** Times as many live queries. */
  readonly volume?: number;
  /** Probability that a user who rates an answer likes it. */
  readonly opinion?: (likes: (found: boolean) => number) => (found: boolean) => number;
  /** A new version of the golden set. */
  readonly golden?: (lines: readonly GoldenLine[]) => readonly GoldenLine[];
  /** Deployments that are annotated at the onset. */
  readonly deployments?: readonly {
    readonly kind: 'index' | 'embedder' | 'retriever' | 'golden';
    readonly version: string;
  }[];
  /** recalld's own machine: for how long its event loop stands still at a time, or golden runs that are never started. */
  readonly daemon?: { readonly stallMs?: number; readonly skipsGolden?: boolean };
}

export interface Draw {
  readonly size: Size;
  readonly random: RandomNumbers;
  readonly material: Material;
}

export interface FaultKind {
  /** As its file is called. */
  readonly name: string;
  /** What happens, in a sentence without a subject: "half of the documents vanish". */
  readonly title: string;
  /** Causes that name it rightly, the best first; `unknown` where the list of causes has no word for it. Empty: nothing is wrong. */
  readonly causes: readonly Cause[];
  /** Whether a shape can have it; left out, every shape can. */
  readonly fits?: (material: Material) => boolean;
  /** Golden runs until the fault can show in one, beyond the first. */
  readonly lateRuns?: number;
  readonly begin: (draw: Draw) => Condition;
}

/** A value for each size. */
export function bySize<Value>(size: Size, small: Value, medium: Value, large: Value): Value {
  return { small, medium, large }[size];
}

/** A number near the value of its size, so that no two worlds are alike. */
export function around(random: RandomNumbers, value: number): number {
  return value * (0.8 + 0.4 * random.uniform());
}

/** Some of the items, each with the probability. */
export function some<Item>(items: readonly Item[], share: number, random: RandomNumbers): Item[] {
  const keyed = items.map((item) => ({ item, key: random.uniform() })).toSorted((a, b) => a.key - b.key);
  return keyed.slice(0, Math.max(1, Math.round(share * items.length))).map(({ item }) => item);
}

/** Decides for each text, once and for all, whether a fault hurts it; `share` of them are. */
export function someTexts(random: RandomNumbers, share: number): (text: string) => boolean {
  const seed = random.below(1e9);
  return (text) => hashText(text, seed) / 2 ** 32 < share;
}

/** Several conditions at once: what the first makes of a thing, the next gets. */
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
