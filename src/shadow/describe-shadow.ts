/** What a report on a shadow says, as sentences for people and as JSON. */
import { count } from '../console/format.ts';
import { type Evidence, isCalled, type ShadowVerdict } from './rules/looks.ts';
import type { WeightedShare } from './rules/overlap.ts';
import type { ShadowOnJudged, ShadowOnSet, ShadowReport } from './shadow-reads.ts';

export const verdictSentences: Readonly<Record<ShadowVerdict, string>> = {
  worse: 'It is worse: do not let it take the place of the retriever.',
  better: 'It is better.',
  alike: 'It is as good: no difference that matters is left possible.',
  undecided: 'Nothing is decided: neither a difference that matters nor its absence is shown.',
  no_data: 'No golden set has been asked yet.',
};

/**
 * @param difference that is to be found
 * @param knownAfter until when nothing is known of the noise
 */
export function evidenceSentence(evidence: Evidence, difference: number, knownAfter = 'the second run'): string {
  switch (evidence.kind) {
    case 'decided':
      return 'It is decided.';
    case 'enough':
      return `There is enough evidence: a difference of ${difference} would have been called with a chance of 0.8.`;
    case 'days':
      return `Enough evidence for a difference of ${difference} in about ${evidence.days === 1 ? 'one day' : `${evidence.days} days`}.`;
    case 'more_questions':
      return `More runs of these questions will not show a difference of ${difference}; about ${count(evidence.questions)} questions would.`;
    case 'unknown':
      return `When there is enough evidence for a difference of ${difference} is known after ${knownAfter}.`;
  }
}

/** What judged live queries say, as a sentence more. */
export const judgedEvidence = ({ evidence }: ShadowOnJudged, difference: number): string =>
  evidenceSentence(evidence, difference, 'some days with graded queries');

const shareJson = (share: WeightedShare | null) =>
  share === null ? null : { value: share.value, ci_low: share.low, ci_high: share.high, n: share.n };

export function shadowJson({ pipeline, shadow, verdict, difference, golden, live, judged, calls }: ShadowReport) {
  return {
    pipeline,
    shadow,
    verdict,
    explanation: verdictSentences[verdict],
    difference,
    golden: golden.map((one) => setJson(one, difference)),
    judged: judged === null ? null : judgedJson(judged, difference),
    live: {
      days: live.days,
      asked: live.asked,
      failed: live.failed,
      overlap: shareJson(live.overlap),
      changed: shareJson(live.changed),
      latency_ms: live.latency,
    },
    calls: {
      today: calls.today,
      max_per_day: calls.maxPerDay,
      max_live_per_day: calls.maxLivePerDay,
      dollars_today: calls.dollarsToday,
      dollars_per_1000: calls.dollarsPerThousand,
    },
  };
}

function evidenceJson(evidence: Evidence) {
  const { kind: state } = evidence;
  return {
    state,
    days: state === 'days' ? evidence.days : state === 'enough' || state === 'decided' ? 0 : null,
    questions: state === 'more_questions' ? evidence.questions : null,
  };
}

function judgedJson(judged: ShadowOnJudged, difference: number) {
  const { difference: found } = judged;
  return {
    verdict: judged.verdict,
    measure: `ndcg@${judged.k}`,
    days: judged.days,
    last_day: judged.lastDay,
    queries: judged.queries,
    sessions: judged.sessions,
    left_out: judged.leftOut,
    baseline: judged.baseline,
    candidate: judged.candidate,
    difference: found?.value ?? null,
    ci_low: found?.low ?? null,
    ci_high: found?.high ?? null,
    decided_on: judged.calledOn,
    smallest_detectable_difference: judged.smallestDetectableDifference,
    evidence: { ...evidenceJson(judged.evidence), explanation: judgedEvidence(judged, difference) },
  };
}

function setJson({ goldenSet, verdict, by, looks, evidence, latestRun, latency95 }: ShadowOnSet, difference: number) {
  return {
    golden_set: goldenSet,
    verdict,
    measure: by === null ? null : `ndcg@${by.k}`,
    version: by?.goldenSetVersion ?? null,
    queries: by?.n ?? 0,
    runs: by?.runs ?? 0,
    baseline: by?.baseline ?? null,
    candidate: by?.candidate ?? null,
    difference: by?.difference ?? null,
    ci_low: by?.ciLow ?? null,
    ci_high: by?.ciHigh ?? null,
    ci_method: by?.ciMethod ?? null,
    p: by?.p ?? null,
    alpha: by?.alpha ?? null,
    tests: looks.length,
    decided_at: isCalled(verdict) ? (by?.lookedAt.toISOString() ?? null) : null,
    smallest_detectable_difference: looks.at(-1)?.smallestDetectableDifference ?? null,
    evidence: {
      ...evidenceJson(evidence),
      explanation: evidenceSentence(evidence, difference),
    },
    run_id: by?.runId ?? null,
    baseline_run_id: by?.against ?? null,
    latest_run:
      latestRun === null ? null : { run_id: latestRun.id, status: latestRun.status, reason: latestRun.reason },
    latency_p95_ms: latency95,
  };
}
