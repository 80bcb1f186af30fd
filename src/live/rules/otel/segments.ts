/** The segments of a live query, from attributes that services already put on their spans. */
import { readFirst, readObject, readTextUpTo } from './attribute.ts';
import type { Attributes, AttributeValue } from './span.ts';

const readValue = readTextUpTo(256);

/** Prefixes under which tracing SDKs put the tags of a request: Langfuse twice, OpenLLMetry. */
const prefixes = [
  '',
  'langfuse.trace.metadata.',
  'langfuse.observation.metadata.',
  'traceloop.association.properties.',
];

/** JSON objects with the tags of a request: OpenInference, Langfuse. */
const objects = ['metadata', 'langfuse.trace.metadata', 'langfuse.observation.metadata'];

/**
 * The value of each segment key, from the first of the given attributes that have it: those of the span, of its
 * ancestors, of the resource. An attribute of that very name comes first, then the metadata of the tracing SDKs. A
 * key that nothing tells of is left out; numbers and booleans are written as text.
 */
export function readSegments(
  around: readonly Attributes[],
  keys: readonly string[],
): Readonly<Record<string, string>> {
  const segments: Record<string, string> = Object.create(null);
  for (const key of keys) {
    const value = around.map((attributes) => readSegment(attributes, key)).find((found) => found !== null);
    if (value !== undefined && value !== null) segments[key] = value;
  }
  return segments;
}

function readSegment(attributes: Attributes, key: string): string | null {
  const names = prefixes.map((prefix) => prefix + key);
  return (
    readFirst(attributes, names, readSegmentValue) ??
    readFirst(attributes, objects, (value) => readSegmentValue(readObject(value)?.[key]))
  );
}

function readSegmentValue(value: AttributeValue | undefined): string | null {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  return readValue(text)?.replace(/\p{Cc}/gu, ' ') ?? null;
}
