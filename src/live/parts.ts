/** What a thread read, cut into parts that the main thread takes in one after the other. */
import { deserialize, serialize } from 'node:v8';
import type { Feedback, LiveQuery } from './rules/live-query.ts';

/** Any item weighs as much as so many retrieved documents. */
export const ITEM_WEIGHT = 20;
/** Characters that weigh as much as one. */
const CHARACTERS = 500;
/** Some milliseconds of copying and of taking in. */
const MAX_IN_PART = 6000;

export function weightOfQuery({ results, stages, text }: LiveQuery): number {
  return ITEM_WEIGHT + results.length * (1 + stages.length) + (text?.length ?? 0) / CHARACTERS;
}

export function weightOfFeedback({ comment }: Pick<Feedback, 'comment'>): number {
  return ITEM_WEIGHT + (comment?.length ?? 0) / CHARACTERS;
}

/** In their order; an item that is heavier than a part is one of its own. */
export function cut<Item>(items: readonly Item[], weightOf: (item: Item) => number): Item[][] {
  const parts: Item[][] = [];
  let room = 0;
  for (const item of items) {
    const weight = weightOf(item);
    const last = parts.at(-1);
    if (last === undefined || weight > room) {
      parts.push([item]);
      room = MAX_IN_PART - weight;
    } else {
      last.push(item);
      room -= weight;
    }
  }
  return parts;
}

/** Bytes cost the thread that gets them next to nothing until they are unpacked. */
export function pack(part: unknown): Uint8Array {
  return serialize(part);
}

/** What was packed, one part when it is asked for. */
export function* eachUnpacked<Part>(packed: readonly Uint8Array[]): Generator<Part> {
  for (const bytes of packed) yield deserialize(bytes) as Part;
}
