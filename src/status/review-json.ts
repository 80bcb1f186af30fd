/** The facts of a review as one JSON document. */

import { topicJson } from '../density/http-contract.ts';
import { deploymentJson } from '../deployments/schema.ts';
import { diagnosisJson } from '../diagnosis/schema.ts';
import { goldenSetVersionJson } from '../golden/golden-set-schema.ts';
import type { SegmentScore } from '../golden/rules/run.ts';
import type { Measurement } from '../measures/rules/measurement.ts';
import type { Review, ReviewedIncident, ReviewedSet } from './read-review.ts';

/** In the words and units of the HTTP API; times are ISO 8601 in UTC. */
export function reviewJson(review: Review) {
  const { pipeline, from, until, sets, incidents, density, topics, deployments, cut } = review;
  return {
    pipeline,
    from: from.toISOString(),
    to: until.toISOString(),
    golden_sets: sets.map(setJson),
    incidents: incidents.map(incidentJson),
    density: {
      watched: density.isWatched,
      query_density: density.series.query_density.map(valueJson),
      query_uncovered_ratio: density.series.query_uncovered_ratio.map(valueJson),
      events: density.events.map(({ kind, occurredAt, sentence }) => ({
        kind,
        occurred_at: occurredAt.toISOString(),
        sentence,
      })),
    },
    topics: topics.map(({ topic, texts, windows }) => topicJson(topic, texts, windows)),
    deployments: deployments.map(deploymentJson),
    incomplete: [...cut],
  };
}

function setJson({ goldenSet, version, runs, last, representativeness }: ReviewedSet) {
  return {
    golden_set: goldenSet,
    version: version === null ? null : goldenSetVersionJson(version),
    runs: runs.map(({ runId, goldenSetVersion, status, startedAt, scores }) => ({
      run_id: runId,
      golden_set_version: goldenSetVersion,
      status,
      started_at: startedAt.toISOString(),
      scores: scores.map(scoreJson),
    })),
    last:
      last === null
        ? null
        : {
            run_id: last.run.id,
            scores: last.scores.map(scoreJson),
            baseline_run_id: last.baseline?.against ?? null,
          },
    representativeness: representativeness === null ? null : valueJson(representativeness),
  };
}

function scoreJson({ segment, measure, k, mean, n, ciLow, ciHigh, ciMethod }: SegmentScore) {
  return { segment, measure, k, mean, n, ci_low: ciLow, ci_high: ciHigh, ci_method: ciMethod };
}

function incidentJson(incident: ReviewedIncident) {
  const { check, severity, worst, openedAt, closedAt, durationMs, explanation, diagnoses } = incident;
  return {
    check,
    severity,
    worst,
    opened_at: openedAt?.toISOString() ?? null,
    closed_at: closedAt?.toISOString() ?? null,
    duration_seconds: durationMs / 1000,
    explanation,
    diagnoses: diagnoses.map(diagnosisJson),
  };
}

function valueJson({ windowEnd, value, ciLow, ciHigh, n }: Measurement) {
  return { window_end: windowEnd.toISOString(), value, ci_low: ciLow, ci_high: ciHigh, n };
}
