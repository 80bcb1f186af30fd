/** Splits the output of a worker thread into batches that the main thread ingests one after another. */
import { deserialize, serialize } from 'node:v8';
import type { Feedback, LiveQuery } from './rules/live-query.ts';

/** Base weight of an item; a retrieved document has the weight 1. */
export const ITEM_WEIGHT = 20;
/** Number of text characters with the same weight as one retrieved document. */
const CHARACTERS_PER_DOCUMENT = 500;
/** Maximum weight of a batch. The limit ensures that copying and ingesting a batch takes only milliseconds. */
const MAX_BATCH_WEIGHT = 6000;

export function weightOfQuery({ results, stages, text, episode }: LiveQuery): number {
  const characters = (text?.length ?? 0) + (episode?.originalText?.length ?? 0);
  return ITEM_WEIGHT + results.length * (1 + stages.length) + characters / CHARACTERS_PER_DOCUMENT;
}

export function weightOfFeedback({ comment }: Feedback): number {
  return ITEM_WEIGHT + (comment?.length ?? 0) / CHARACTERS_PER_DOCUMENT;
}

/** Splits items into batches, in order. An item heavier than the maximum gets its own batch. */
export function splitByWeight<Item>(items: readonly Item[], weightOf: (item: Item) => number): Item[][] {
  const batches: Item[][] = [];
  let room = 0;
  for (const item of items) {
    const weight = weightOf(item);
    const last = batches.at(-1);
    if (last === undefined || weight > room) {
      batches.push([item]);
      room = MAX_BATCH_WEIGHT - weight;
    } else {
      last.push(item);
      room -= weight;
    }
  }
  return batches;
}

/** Serializes a batch. The receiving thread spends almost no time on the bytes until it unpacks them. */
export function pack(batch: unknown): Uint8Array {
  return serialize(batch);
}

export function* unpackEach<Batch>(packed: readonly Uint8Array[]): Generator<Batch> {
  for (const bytes of packed) yield deserialize(bytes) as Batch;
}
