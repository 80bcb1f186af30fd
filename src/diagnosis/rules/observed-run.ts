/** A golden run as diagnoses see it: beside the last good run, the bad run before it, and runs long before. */
import type { ComparedSide } from '../../golden/rules/compare-golden-runs.ts';
import type { OutcomeCounts, QueryAnswer } from '../../golden/rules/run.ts';
import { runFailure } from '../../golden/rules/run-failure.ts';
import type { RunMetricKey } from '../../golden/rules/score-run.ts';
import { changedAnswers, type StagedSide, scoreLoss, stageLoss, widestNdcg } from './changed-answers.ts';
import type { ObservedLabels, ObservedRun } from './observations.ts';
import { type OlderRun, olderAnswers, repeatedAnswers } from './repeated-answers.ts';

export interface RunsSeen {
  readonly goldenSet: string;
  readonly now: ComparedSide;
  readonly labels: ObservedLabels | null;
  readonly forbidden: ObservedRun['forbidden'];
  /** Ids of queries whose labels are not alive. */
  readonly stale: ReadonlySet<string>;
  /** The measure in alarm, if it is one of a golden run. */
  readonly key: RunMetricKey | null;
  readonly reference: {
    readonly side: ComparedSide;
    readonly version: number;
    readonly isSameVersion: boolean;
    readonly staleBefore: number | null;
    /** What the stages of both had, by the id of the query; null where one of them tells of none. */
    readonly stages: Readonly<Record<'before' | 'now', StagedSide['stages']>> | null;
  } | null;
  /** The bad run just before; null when there is none. */
  readonly previous: ComparedSide | null;
  /** Good runs before the reference. */
  readonly older: readonly OlderRun[];
}

export function observedRun({ now, reference, previous, older, ...seen }: RunsSeen): ObservedRun {
  const { goldenSet, labels, forbidden, stale, key } = seen;
  const measured = {
    goldenSet,
    outcomes: countOutcomes(now.answers),
    failure: runFailure(now.answers),
    latency95Ms: latency95(now.answers),
    slow: slowQueries(now),
    labels,
    forbidden,
    returned: returnedBy(now),
  };
  if (reference === null) return { ...measured, reference: null };
  const { side, version, isSameVersion, staleBefore, stages } = reference;
  const isScored = key !== null && [side, now].every(({ settings }) => settings.cutoffs.includes(key.k));
  const measure = isScored ? key : widestNdcg(side, now);
  return {
    ...measured,
    reference: {
      latency95Ms: latency95(side.answers),
      staleBefore,
      version,
      isSameVersion,
      answers: changedAnswers(side, now, stale, measure),
      loss: scoreLoss(side, now, stale, measure),
      stages:
        stages === null ? null : stageLoss({ ...side, stages: stages.before }, { ...now, stages: stages.now }, stale),
      previous:
        previous === null
          ? null
          : { answers: repeatedAnswers(side, previous, now), latency95Ms: latency95(previous.answers) },
      older: olderAnswers(older, side, now),
    },
  };
}

function countOutcomes(answers: readonly QueryAnswer[]): OutcomeCounts {
  const counts = { ok: 0, empty: 0, error: 0, timeout: 0 };
  for (const { outcome } of answers) counts[outcome] += 1;
  return counts;
}

/** Of the answers that came, in milliseconds. */
function latency95(answers: readonly QueryAnswer[]): number | null {
  const latencies = answers
    .flatMap(({ outcome, latencyMs }) => (outcome === 'ok' || outcome === 'empty' ? (latencyMs ?? []) : []))
    .toSorted((a, b) => a - b);
  return latencies[Math.ceil(0.95 * latencies.length) - 1] ?? null;
}

const MIN_TIMED = 20;
/** A latency of twice the usual, and by more than a busy machine explains. */
const FAR_LONGER = 2;
const FAR_LONGER_MS = 50;

/** Queries are asked in the order of the set, a few at a time. Timeouts count as what they took. */
function slowQueries({ queries, answers }: ComparedSide): ObservedRun['slow'] {
  const latencyOf = new Map(answers.map(({ queryId, latencyMs }) => [queryId, latencyMs]));
  const latencies = queries.flatMap(({ id }) => latencyOf.get(id) ?? []);
  if (latencies.length < MIN_TIMED) return null;
  const half = Math.floor(latencies.length / 2);
  const usual = medianOf(latencies.slice(half));
  const isSlow = (ms: number): boolean => ms >= FAR_LONGER * usual && ms - usual >= FAR_LONGER_MS;
  return { queries: latencies.filter(isSlow).length, early: latencies.slice(0, half).filter(isSlow).length };
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Of a set without judgments nothing is known of what came back. */
function returnedBy({ queries, answers }: ComparedSide): ObservedRun['returned'] {
  const judged = new Set(queries.flatMap(({ judgments }) => judgments.map(({ documentId }) => documentId)));
  const ids = judged.size === 0 ? [] : answers.flatMap(({ documents }) => documents.map(({ id }) => id));
  return { documents: ids.length, judged: ids.filter((id) => judged.has(id)).length };
}
