/** What was found in a request, cut into parts that the main thread takes in one after the other. */
import { deserialize, serialize } from 'node:v8';
import type { Extraction } from '../../core/otel/extract.ts';
import type { TraceFragment } from '../../core/otel/trace-fragment.ts';

export type Found = Pick<Extraction, 'queries' | 'fragments' | 'feedback'>;

/** A live query or a fragment weighs as much as so many retrieved documents. */
const ITEM = 20;
/** Characters that weigh as much as one. */
const CHARACTERS = 500;
/** Some milliseconds of copying and of taking in. */
const MOST_IN_PART = 6000;

/** Queries first, feedback last; the fragments of a trace stay together, because what is kept of it is chosen of all. */
export function inParts({ queries, fragments, feedback }: Found): Found[] {
  const none = { queries: [], fragments: [], feedback: [] };
  return [
    ...cut(queries, weightOfQuery).map((part) => ({ ...none, queries: part })),
    ...cut(byTrace(fragments), (trace) => ITEM * trace.length).map((part) => ({
      ...none,
      fragments: part.flat(),
    })),
    ...cut(feedback, () => ITEM).map((part) => ({ ...none, feedback: part })),
  ];
}

function weightOfQuery({ results, text }: Found['queries'][number]): number {
  return ITEM + results.length + (text?.length ?? 0) / CHARACTERS;
}

function byTrace(fragments: readonly TraceFragment[]): TraceFragment[][] {
  const traces = new Map<string, TraceFragment[]>();
  for (const fragment of fragments) {
    const trace = traces.get(fragment.traceId);
    if (trace === undefined) traces.set(fragment.traceId, [fragment]);
    else trace.push(fragment);
  }
  return [...traces.values()];
}

function cut<Item>(items: readonly Item[], weightOf: (item: Item) => number): Item[][] {
  const parts: Item[][] = [];
  let room = 0;
  for (const item of items) {
    const weight = weightOf(item);
    const last = parts.at(-1);
    if (last === undefined || weight > room) {
      parts.push([item]);
      room = MOST_IN_PART - weight;
    } else {
      last.push(item);
      room -= weight;
    }
  }
  return parts;
}

/** Bytes cost the thread that gets them next to nothing until they are unpacked. */
export function pack(part: Found): Uint8Array {
  return serialize(part);
}

/** The value that was packed. */
export function unpack(bytes: Uint8Array): Found {
  return deserialize(bytes);
}
