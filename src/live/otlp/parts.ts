/** What was found in a request, cut into parts that the main thread takes in one after the other. */

import { cut, ITEM_WEIGHT, weightOfFeedback, weightOfQuery } from '../parts.ts';
import type { Extraction } from '../rules/otel/extract.ts';
import type { TraceFragment } from '../rules/otel/trace-fragment.ts';

export type Found = Pick<Extraction, 'queries' | 'fragments' | 'feedback'>;

/** Queries first, feedback last; the fragments of a trace stay together, because what is kept of it is chosen of all. */
export function inParts({ queries, fragments, feedback }: Found): Found[] {
  const none = { queries: [], fragments: [], feedback: [] };
  return [
    ...cut(queries, weightOfQuery).map((part) => ({ ...none, queries: part })),
    ...cut(byTrace(fragments), (trace) => ITEM_WEIGHT * trace.length).map((part) => ({
      ...none,
      fragments: part.flat(),
    })),
    ...cut(feedback, weightOfFeedback).map((part) => ({ ...none, feedback: part })),
  ];
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
