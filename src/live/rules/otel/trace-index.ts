/** The spans of one export by id, with their roles: who is whose ancestor, as far as the ancestors came along. */
import { liveQueryId, type OtlpSpan } from './span.ts';
import { roleOf, type SpanRole } from './span-role.ts';

/** Deeper nesting is no trace but a loop. */
const MAX_ANCESTORS = 200;

export interface TraceIndex {
  /** Each span once; of a span that was sent twice the later one. */
  readonly spans: readonly OtlpSpan[];
  /** `other` for a retriever of no pipeline. */
  roleOf(span: OtlpSpan): SpanRole;
  /** Whether the span is a retriever of no pipeline. */
  isUnwatched(span: OtlpSpan): boolean;
  find(traceId: string, spanId: string): OtlpSpan | null;
  /** Nearest first, ending where an ancestor is not part of the export. */
  ancestorsOf(span: OtlpSpan): readonly OtlpSpan[];
  /** The retriever furthest up that the span is, or lies within; null when there is none. */
  retrieverAround(span: OtlpSpan): OtlpSpan | null;
}

/**
 * Indexes the spans of one export.
 *
 * @param isWatched whether a retriever span belongs to a pipeline; one that does not is as if it were no retriever
 */
export function indexSpans(spans: readonly OtlpSpan[], isWatched: (span: OtlpSpan) => boolean): TraceIndex {
  const byId = new Map(spans.map((span) => [liveQueryId(span.traceId, span.spanId), span]));
  const roles = new Map<OtlpSpan, SpanRole>();
  const unwatched = new Set<OtlpSpan>();
  for (const span of byId.values()) {
    const role = roleOf(span);
    if (role === 'retriever' && !isWatched(span)) unwatched.add(span);
    roles.set(span, unwatched.has(span) ? 'other' : role);
  }

  const find = (traceId: string, spanId: string) => byId.get(liveQueryId(traceId, spanId)) ?? null;
  const parentOf = (span: OtlpSpan) =>
    span.parentSpanId === null ? null : find(span.traceId, span.parentSpanId);

  function ancestorsOf(span: OtlpSpan): readonly OtlpSpan[] {
    const ancestors: OtlpSpan[] = [];
    let parent = parentOf(span);
    while (parent !== null && parent !== span && ancestors.length < MAX_ANCESTORS) {
      ancestors.push(parent);
      parent = parentOf(parent);
    }
    return ancestors;
  }

  const roleOfIndexed = (span: OtlpSpan) => roles.get(span) ?? 'none';
  const isRetriever = (span: OtlpSpan) => roleOfIndexed(span) === 'retriever';
  const around = new Map(
    [...byId.values()].map((span) => [span, [span, ...ancestorsOf(span)].findLast(isRetriever) ?? null]),
  );
  return {
    spans: [...byId.values()],
    roleOf: roleOfIndexed,
    isUnwatched: (span) => unwatched.has(span),
    find,
    ancestorsOf,
    retrieverAround: (span) => around.get(span) ?? null,
  };
}
