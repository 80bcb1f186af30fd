import type { DensityAnswer } from '../../contracts/http/density.ts';
import type { Measurement } from '../../core/measurement.ts';
import type { DensityDescription } from '../../pipeline/density/describe-density.ts';

/** A description of query density as the API tells it. */
export function densityJson({
  pipeline,
  segment,
  plan,
  stored,
  check,
  outgrown,
  measures,
  events,
}: DensityDescription): DensityAnswer {
  const phase = stored?.state.phase ?? null;
  const watching = phase?.kind === 'watching' ? phase : null;
  const progress = phase?.kind === 'learning' ? phase.progress : null;
  return {
    pipeline,
    segment,
    phase: phase?.kind ?? 'unwatched',
    baseline:
      watching === null
        ? null
        : {
            version: watching.baselineVersion,
            grade: watching.grade,
            days: watching.days,
            sessions: watching.sessions,
            until: new Date(watching.untilMs).toISOString(),
          },
    progress:
      progress === null || plan === null
        ? null
        : { days: progress.days, sessions: progress.sessions, needs: { ...plan.needs } },
    incidents: Object.fromEntries(
      Object.entries(watching?.alarms ?? {}).flatMap(([level, { incident }]) =>
        incident === null
          ? []
          : [[level, { opened_at: new Date(incident.openedMs).toISOString(), scope: incident.scope }]],
      ),
    ),
    closed_until: watching === null || stored === null ? null : new Date(stored.state.closedMs).toISOString(),
    check: check === null ? null : { verdict: check.verdict, explanation: check.explanation },
    outgrew_baseline: outgrown,
    measures: Object.fromEntries(
      measures.map(({ measure, latest, gap, series }) => [
        measure,
        {
          latest: latest === null ? null : pointJson(latest),
          no_data: gap === null ? null : { reason: gap.reason, details: gap.details },
          series: series.map(pointJson),
        },
      ]),
    ),
    events: events.map(({ id, kind, occurredAt, sentence, details }) => ({
      id,
      kind,
      occurred_at: occurredAt.toISOString(),
      sentence,
      details,
    })),
  };
}

function pointJson({ windowStart, windowEnd, value, ciLow, ciHigh, n }: Measurement) {
  return {
    window_start: windowStart.toISOString(),
    window_end: windowEnd.toISOString(),
    value,
    ci_low: ciLow,
    ci_high: ciHigh,
    sessions: n,
  };
}
