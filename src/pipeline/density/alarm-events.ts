/** What people are told of the alarms of a closed window. */
import { raisedSentence, resolvedSentence } from '../../core/drift/alarm/alarm-sentence.ts';
import type { NewDensityEvent } from '../../ports/density-states.ts';
import type { WindowClosing } from './close-window.ts';
import { type InvestigateDeps, type Investigation, investigate } from './investigate.ts';
import type { DensityReference } from './reference.ts';

const MOST_REGIONS = 3;

/** An event for each alarm that the window raised, with what is behind it, or resolved. */
export async function alarmEvents(
  deps: InvestigateDeps,
  reference: DensityReference,
  { steps, history, closed }: WindowClosing,
  signal: AbortSignal,
): Promise<NewDensityEvent[]> {
  const { plan, stored } = reference;
  const { pipeline } = plan;
  const occurredAt = new Date(closed.endMs);
  const events: NewDensityEvent[] = [];
  for (const { level, step } of steps) {
    const { event, evidenceRatio } = step;
    if (event === null) continue;
    if (event.kind === 'resolved') {
      const { scope, size } = event;
      const sentence = resolvedSentence(pipeline, level, scope, size);
      events.push({ kind: 'resolve', occurredAt, sentence, details: { level, scope, ...sizeDetails(size) } });
      continue;
    }
    const found = await investigate(deps, reference, event, history, signal);
    const { uncovered, reading } = found;
    const region = found.regions.find(({ explained }) => explained > 0) ?? null;
    const { scope, size, renewed } = event;
    const sentence = raisedSentence({
      pipeline,
      level,
      renewed,
      scope,
      size,
      uncovered,
      evidenceRatio,
      region,
      reading,
    });
    const details = {
      level,
      renewed,
      scope,
      leading: event.leading,
      evidence_ratio: evidenceRatio,
      baseline: stored.version,
      ...sizeDetails(size),
      ...investigationDetails(found),
    };
    events.push({ kind: level, occurredAt, sentence: withLost(sentence, found), details });
  }
  return events;
}

function withLost(sentence: string, { lost }: Investigation): string {
  if (lost === null || lost.missing === 0) return sentence;
  return `${sentence} ${lost.missing} of ${lost.probed} chunks that baseline queries found are gone from the store.`;
}

function sizeDetails(size: {
  density: number;
  low: number;
  high: number;
  sessions: number;
  startMs: number;
}) {
  return {
    density: size.density,
    density_ci_low: size.low,
    density_ci_high: size.high,
    sessions: size.sessions,
    since: new Date(size.startMs).toISOString(),
  };
}

function investigationDetails({ uncovered, regions, novelty, reading, lost }: Investigation) {
  return {
    uncovered_ratio: uncovered.share,
    uncovered_excess_ratio: uncovered.excess,
    uncovered_excess_ci_low: uncovered.excessLow,
    uncovered_excess_ci_high: uncovered.excessHigh,
    regions: regions.slice(0, MOST_REGIONS).map(({ region, share, baselineShare, density, explained }) => ({
      region,
      share,
      baseline_share: baselineShare,
      density,
      explained,
    })),
    cause: reading.cause,
    cause_confidence: reading.confidence,
    golden_confirms: reading.confirmed,
    novel_ratio: novelty?.share ?? null,
    lost_chunks: lost,
  };
}
