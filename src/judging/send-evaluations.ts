/** Scores of single live queries, back to the platform that has their traces. */
import { toOtlpEvents } from '../metrics/otlp.ts';
import { DAY_MS } from '../time.ts';
import type { JudgingDeps, JudgingPlan } from './plan.ts';
import { evaluationsOf } from './rules/evaluation-events.ts';

/** Four events each. */
const QUERIES_PER_REQUEST = 250;
/** Grades come within a day or never; what could not be sent a day later is given up. */
const PATIENCE_MS = 2 * DAY_MS;

/**
 * Sends what the model graded since the last time, at least once: a process that dies between sending and noting it sends
 * again. What the receiver refuses is not sent again, and what did not arrive is tried again in the next round.
 */
export async function sendEvaluations(deps: JudgingDeps, { pipeline, depth, judge }: JudgingPlan): Promise<void> {
  const { evaluations, otlp, clock, meter, logger } = deps;
  if (otlp === null || judge === null) return;
  const since = new Date(clock.now().getTime() - PATIENCE_MS);
  for (;;) {
    const queries = await evaluations.unsent(pipeline, since, QUERIES_PER_REQUEST);
    if (queries.length === 0) return;
    const events = queries.flatMap((query) => evaluationsOf(query, pipeline, depth));
    const refusal = await otlp.send('logs', toOtlpEvents(events, otlp.reporter, clock.now()));
    const outcome = refusal === null ? 'sent' : refusal.isPartial ? 'refused' : 'failed';
    meter.increment('recalld_evaluation_requests_total', { pipeline, outcome });
    if (refusal !== null) logger.warn('evaluations are not sent by OTLP', { pipeline, reason: refusal.reason });
    if (outcome === 'failed') return;
    await evaluations.recordSent(
      pipeline,
      queries.map(({ id }) => id),
      clock.now(),
    );
  }
}
