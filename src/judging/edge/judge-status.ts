/** Judging status for the page, and for the command and its JSON output. */
import type { Context } from '../../core/context.ts';
import { dollars, minute } from '../../core/format.ts';
import { DAY_MS } from '../../core/time.ts';
import { measureRow } from '../../measures/rules/measure-table.ts';
import type { Content } from '../../report/model/content.ts';
import { bounded, paragraph, table } from '../../report/model/show.ts';
import { isCorrected } from '../gauges.ts';
import { JUDGE_DRIFT } from '../judge-drift.ts';
import { HUMAN_AGREEMENT, JUDGE_AGREEMENT, JUDGED_QUERIES, POOL_GAP, recordedAgreement } from '../measure-judged.ts';
import { type Agreement, formatAgreement } from '../rules/agreement.ts';
import { FLAGGED_MS, flaggedSentence } from '../rules/flagged-grades.ts';
import { measuresOfScore } from '../rules/judged-measures.ts';

export type JudgeStatus = Awaited<ReturnType<typeof readJudgeStatus>>;

/** @param person the reviewer whose queue is read; null for the queue of first judgments */
export async function readJudgeStatus({ db, clock }: Context, pipeline: string, person: string | null) {
  const now = clock.now();
  const latest = (await db.measurements.latest(now)).filter((one) => one.pipeline === pipeline);
  const newestOf = (measure: string, segment = 'all') =>
    latest.find(
      (one) => one.measure === measure && one.segment === segment && one.gap === null && !isCorrected(one, latest),
    )?.newest ?? null;
  const [people, { today }, flagged] = await Promise.all([
    db.judging.reviews.progress(pipeline, person, now),
    db.judging.spending.spent(pipeline, now),
    db.judging.reviews.flagged(pipeline, new Date(now.getTime() - FLAGGED_MS)),
  ]);
  const counts = newestOf(JUDGED_QUERIES)?.details ?? {};
  return {
    pipeline,
    scores: [...Object.values(measuresOfScore).flat(), POOL_GAP].flatMap((measure) => {
      const newest = newestOf(measure);
      return newest === null ? [] : [{ ...newest, measure, k: Number(newest.details['k']) }];
    }),
    /** Agreement between the judge and people; null if there is too little data. */
    agreement: recordedAgreement(latest, pipeline, JUDGE_AGREEMENT),
    humanAgreement: recordedAgreement(latest, pipeline, HUMAN_AGREEMENT),
    drift: newestOf(JUDGE_DRIFT),
    counts,
    judge: judgeOf(counts),
    people,
    /** Cost of the judge since midnight UTC, in US dollars. */
    costToday: today,
    flagged,
  };
}

/** Returns the current judge and when it started grading; null if there is no model judge. */
function judgeOf({ judge, judge_since: since }: Readonly<Record<string, unknown>>) {
  return typeof judge === 'string' && typeof since === 'string' ? { fingerprint: judge, since } : null;
}

export function judgeStatusJson(status: JudgeStatus) {
  const { pipeline, scores, agreement, humanAgreement, drift, counts, judge, people, costToday, flagged } = status;
  return {
    pipeline,
    judged: { model: Number(counts['model'] ?? 0), person: Number(counts['person'] ?? 0) },
    people: {
      drawn: people.drawn,
      graded: people.graded,
      sessions: Number(counts['human_sessions'] ?? 0),
      graded_by_two: Number(counts['second'] ?? 0),
      agreement: agreementJson(humanAgreement),
    },
    flagged: { grades: flagged.graded, flagged: flagged.flagged, days: FLAGGED_MS / DAY_MS },
    cost_today_dollars: costToday,
    judge,
    drift: drift === null ? null : { grades: drift.value, ci_low: drift.ciLow, ci_high: drift.ciHigh, n: drift.n },
    agreement: agreementJson(agreement),
    scores: scores.map(({ measure, k, value, ciLow, ciHigh, n }) => ({
      measure: `${measure}@${k}`,
      value,
      ci_low: ciLow,
      ci_high: ciHigh,
      n,
    })),
  };
}

function agreementJson(agreement: Agreement | null) {
  if (agreement === null) return null;
  return { kappa: agreement.kappa, ci_low: agreement.low, ci_high: agreement.high, n: agreement.pairs };
}

export function judgeScores(status: JudgeStatus): Content {
  const { pipeline, scores, humanAgreement, drift, counts, judge, flagged } = status;
  return [
    flagged.graded > 0 && paragraph(flaggedSentence(pipeline, flagged)),
    scores.length === 0
      ? paragraph(
          'No scores yet. The first round selects no queries; the first scores appear within two hours after recalld starts.',
        )
      : table('Scores of live traffic', scores, [
          ['Score', ({ measure, k }) => `${measureRow(measure).title} @${k}`],
          ['Value (95 % CI)', (one) => bounded(one, measureRow(one.measure).scale), 'number'],
          ['n', ({ n }) => n, 'number'],
        ]),
    judge !== null && paragraph(`Judge: ${judge.fingerprint}, since ${minute(new Date(judge.since))} UTC.`),
    drift !== null && paragraph('Judge drift: ', bounded(drift, 'difference'), ` grades, over ${drift.n} pairs.`),
    humanAgreement !== null &&
      paragraph(
        `Agreement between two people (weighted kappa): ${formatAgreement(humanAgreement)}. Two people graded ${Number(counts['second'])} of the ${Number(counts['person'])} human-graded queries.`,
      ),
  ];
}

export function judgeReport(status: JudgeStatus): Content {
  const { people, costToday, agreement } = status;
  return [
    judgeScores(status),
    agreement !== null &&
      paragraph(`Agreement between the judge and people (weighted kappa): ${formatAgreement(agreement)}.`),
    paragraph(
      `People have graded ${people.graded} of the ${people.drawn} queries selected for them. Judge cost today: ${dollars(costToday)}.`,
    ),
  ];
}
