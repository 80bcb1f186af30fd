/**
 * Tests every combination of the states of a check, its data and a diagnosis: the status must never contradict itself.
 */
import { describe, expect, it } from 'vitest';
import type { CheckState } from '../../../../src/checks/rules/check-state.ts';
import { type Severity, severities, type Verdict, verdicts } from '../../../../src/core/model.ts';
import type { LatestRun } from '../../../../src/golden/sql/latest-runs.ts';
import { openIncidentOf, type PipelineStatus, pipelineStatus } from '../../../../src/report/status/pipeline-status.ts';
import { aCompletedRun, aLatestRun, aWatchedPipeline, NOON } from '../../../support/builders.ts';
import { aCheckState } from '../../../support/check-states.ts';
import { aMeasurement, latestAt } from '../../../support/measurements.ts';

const HOUR = 3600;

interface Moment {
  readonly severity: Severity;
  readonly verdict: Verdict;
  readonly isQuiet: boolean;
  readonly isTooOld: boolean;
  /** True if the recall of the index was measured recently. */
  readonly isRecallFresh: boolean;
  readonly run: 'answered' | 'failing' | 'void' | 'old';
  /** True if an incident is open. */
  readonly hasIncident: boolean;
}

/** All possible combinations. A check that is quiet or whose data is too old has the verdict `no_data`. */
const moments: readonly Moment[] = severities.flatMap((severity) =>
  verdicts.flatMap((verdict) =>
    [true, false].flatMap((isQuiet) =>
      [true, false].flatMap((isTooOld) =>
        [true, false].flatMap((isRecallFresh) =>
          (['answered', 'failing', 'void', 'old'] as const).flatMap((run) =>
            [true, false].flatMap((hasIncident) =>
              (verdict !== 'no_data' && (isQuiet || isTooOld)) || (isQuiet && isTooOld)
                ? []
                : [{ severity, verdict, isQuiet, isTooOld, isRecallFresh, run, hasIncident }],
            ),
          ),
        ),
      ),
    ),
  ),
);

function aState(parts: Partial<CheckState>): CheckState {
  return aCheckState({ goldenSet: null, name: 'zero_results_ratio above 0.2', value: null, verdict: 'ok', ...parts });
}

/** A check that always passes. */
const steady = aState({ name: 'ndcg@10 below 0.8 on faq', goldenSet: 'faq', severity: 'warning' });

function latestRun(run: Moment['run']): LatestRun {
  const latest = aLatestRun();
  if (latest.ended === null) throw new Error('the builder makes a run that ended');
  const failure = { message: 'It refused the connection.', code: 'c', queries: 40, others: 0, notAsked: 0, total: 40 };
  const failed = { ...latest.ended, failure, outcomes: { ok: 0, empty: 0, error: 40, timeout: 0 } };
  const before = new Date(NOON.getTime() - (run === 'old' ? 4 * HOUR : 60) * 1000);
  switch (run) {
    case 'answered':
      return latest;
    case 'failing':
      return { ...latest, ended: failed };
    case 'void':
      return { ...latest, ended: failed, completed: aCompletedRun({ finishedAt: before }) };
    case 'old':
      return {
        ...latest,
        lastAttemptAt: before,
        ended: { ...latest.ended, finishedAt: before },
        completed: aCompletedRun({ finishedAt: before }),
      };
  }
}

function statusOf(moment: Moment): PipelineStatus {
  const { severity, verdict, isQuiet, isTooOld, isRecallFresh, run } = moment;
  const now = new Date(NOON.getTime() + 60_000);
  const measured = isRecallFresh ? NOON : new Date(NOON.getTime() - 24 * HOUR * 1000);
  const at = { windowStart: measured, windowEnd: measured, measuredAt: measured };
  const known = { value: 1, ciLow: null, ciHigh: null };
  const facts = {
    latest: [latestRun(run)],
    measurements: latestAt(
      now,
      aMeasurement({ measure: 'ann_recall', ...known, ...at }),
      aMeasurement({ measure: 'samples_read_ratio', ...known }),
    ),
    checks: [steady, aState({ severity, verdict, isQuiet, isTooOld })],
    intervalSeconds: () => HOUR,
    liveIntervalSeconds: 300,
    ownLag: null,
  };
  return pipelineStatus(aWatchedPipeline(), facts, now);
}

const open = (moment: Moment) => (moment.hasIncident ? [{ pipeline: 'docs' }] : []);

describe('pipelineStatus', () => {
  it.each(moments.map((moment) => [JSON.stringify(moment), moment] as const))(
    'does not contradict itself: %s',
    (_, moment) => {
      const status = statusOf(moment);
      const { state, reasons, unknowns, alerts } = status;
      const isHealthy = reasons.length === 0;
      const isAllKnown = isHealthy && unknowns.length === 0;
      // A pipeline has no reasons if and only if it is ok.
      expect(isHealthy).toBe(state === 'ok');
      expect(isAllKnown).toBe(
        moment.verdict === 'ok' && !moment.isTooOld && moment.isRecallFresh && moment.run === 'answered',
      );
      // A pipeline with a firing alert is not ok, and an ok pipeline has no incident.
      if (alerts.length > 0) expect(state).not.toBe('ok');
      expect(openIncidentOf(status, open(moment)) !== null).toBe(moment.hasIncident && state !== 'ok');
      // The status is never better than the check's verdict.
      if (moment.verdict === 'critical') expect(state).toBe('critical');
      if (moment.verdict === 'warning') expect(['warning', 'critical', 'no_data']).toContain(state);
      if (moment.isTooOld || moment.run === 'void') expect(state).not.toBe('ok');
    },
  );
});
