/** Fragments of traces in: checked, made private, bounded, held for the live queries that they complete. */

import type { Clock } from '../clock.ts';
import type { Meter } from '../metrics/meter.ts';
import type { PersonalData } from '../privacy/personal-data.ts';
import { MINUTE_MS } from '../time.ts';
import type { LivePipeline } from './ingest-queries.ts';
import { checkEmbedding } from './rules/live-query.ts';
import type { PersonFragment, TraceFragment } from './rules/otel/trace-fragment.ts';
import type { LiveTraffic } from './sql/live-traffic.ts';
import type { HeldFragment } from './sql/trace-fragments.ts';

interface FragmentBudget {
  /** What this process holds of one minute at most, estimated; what is beyond it is dropped and counted. */
  readonly bytesPerMinute: number;
  /** Of one trace in one export; a service that fills its store embeds documents by the thousand. */
  readonly perTrace: number;
}

interface HoldFragmentsDeps {
  readonly traffic: LiveTraffic;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly budget: FragmentBudget;
  /** Null when the config has no pipeline of that name. */
  livePipeline(name: string): Pick<LivePipeline, 'limits' | 'personalData'> | null;
  /** Of people on spans that belong to no pipeline. */
  readonly anybody: PersonalData;
}

/**
 * A function that takes in the fragments of one export.
 *
 * Vectors that are not of the pipeline's length are left out, as are vectors and texts of spans that tell no
 * pipeline: what may be kept of a text is the pipeline's to say.
 *
 * @throws RecalldError database_unreachable: something was not stored, and all of it may be sent again
 */
export function createFragmentHold(
  deps: HoldFragmentsDeps,
): (fragments: readonly TraceFragment[]) => Promise<void> {
  let minute = 0;
  let bytes = 0;
  const fitsBudget = (fragment: HeldFragment, now: Date): boolean => {
    const current = Math.floor(now.getTime() / MINUTE_MS);
    if (current !== minute) bytes = 0;
    minute = current;
    bytes += sizeOf(fragment);
    return bytes <= deps.budget.bytesPerMinute;
  };
  return async (fragments) => {
    const now = deps.clock.now();
    const usable = fragments.filter((fragment) => isUsable(deps, fragment));
    const last = lastOfEachTrace(usable, deps.budget.perTrace);
    // All of an export are made private at once.
    const holding = await Promise.all(last.map((fragment) => toHeld(deps, fragment, now)));
    const held = numbered(holding).filter((one) => fitsBudget(one, now));
    deps.meter.increment(
      'recalld_otlp_spans_total',
      { outcome: 'fragment_dropped' },
      usable.length - held.length,
    );
    await deps.traffic.holdFragments(held);
  };
}

/** A vector is of use only to a pipeline with such vectors. */
function isUsable(deps: HoldFragmentsDeps, fragment: TraceFragment): boolean {
  if (fragment.kind !== 'embedding') return true;
  const pipeline = fragment.pipeline === null ? null : deps.livePipeline(fragment.pipeline);
  return pipeline !== null && checkEmbedding(fragment.vector, pipeline.limits.dimensions) === null;
}

async function toHeld(deps: HoldFragmentsDeps, fragment: TraceFragment, now: Date): Promise<HeldFragment> {
  const pipeline = fragment.pipeline === null ? null : deps.livePipeline(fragment.pipeline);
  const { kind, traceId, spanId, endedAtUnixNano, within } = fragment;
  const place = { kind, traceId, spanId, endedAtUnixNano, within, part: 0, receivedAt: now };
  const base = { ...place, ...nothing, pipeline: pipeline === null ? null : fragment.pipeline };
  switch (fragment.kind) {
    case 'embedding': {
      const { vector, model } = fragment;
      const text = await pipeline?.personalData.ofText(fragment.text);
      return { ...base, ...text, embedding: vector, embedderVersion: model };
    }
    case 'rerank': {
      const text = await pipeline?.personalData.ofText(fragment.text);
      return { ...base, ...text, topK: fragment.topK, results: fragment.results };
    }
    case 'person':
      return { ...base, ...personOf(fragment, pipeline?.personalData ?? deps.anybody) };
  }
}

const nothing = {
  text: null,
  textHash: null,
  embedding: null,
  embedderVersion: null,
  topK: null,
  results: null,
  sessionHash: null,
  traceHash: null,
  userHash: null,
} as const;

const nobody = { id: '', traceId: null, sessionId: null, userId: null };

function personOf(
  { traceId, sessionId, userId }: PersonFragment,
  personalData: PersonalData,
): Pick<HeldFragment, 'sessionHash' | 'traceHash' | 'userHash'> {
  const { userHash, sessionHash } = personalData.ofPeople({ ...nobody, traceId, sessionId, userId });
  if (sessionId === null) return { sessionHash: null, traceHash: null, userHash };
  return { sessionHash, traceHash: personalData.ofPeople({ ...nobody, traceId }).sessionHash, userHash };
}

function lastOfEachTrace(fragments: readonly TraceFragment[], most: number): TraceFragment[] {
  const found = new Map<string, number>();
  return fragments
    .toReversed()
    .filter(({ traceId }) => {
      found.set(traceId, (found.get(traceId) ?? 0) + 1);
      return (found.get(traceId) ?? 0) <= most;
    })
    .toReversed();
}

/** The same in a retry, which brings the same spans. */
function numbered(fragments: readonly HeldFragment[]): HeldFragment[] {
  const parts = new Map<string, number>();
  return fragments.map((fragment) => {
    const span = `${fragment.traceId} ${fragment.spanId}`;
    const part = parts.get(span) ?? 0;
    parts.set(span, part + 1);
    return { ...fragment, part };
  });
}

/** What a fragment weighs in the database, roughly. */
function sizeOf({ text, embedding, results }: HeldFragment): number {
  return 500 + (text?.length ?? 0) + (embedding?.byteLength ?? 0) + 50 * (results?.length ?? 0);
}
