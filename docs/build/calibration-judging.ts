/** docs/explanation/calibration/judging.md: intervals of judged relevance, and how drops are detected. */

import path from 'node:path';
import { MIN_COVERAGE } from '../../bench/bound-coverage.ts';
import type { JudgedCell, JudgingResult } from '../../bench/judging-coverage.ts';
import type { DropsResult, ChangeCell as JudgedChange } from '../../bench/judging-drops.ts';
import type { LimitResult } from '../../bench/judging-limit.ts';
import { readResult } from '../../bench/result-file.ts';
import { decimal } from '../../src/core/format.ts';
import { goal, measuredBy, percent, rate, shareBounded } from './calibration-text.ts';
import { generatedPage, type Page, table } from './page.ts';

export function judgingCalibrationPage(results: string): Page {
  const judging = readResult(path.join(results, 'judging-coverage.json')) as JudgingResult;
  const explained = readResult(path.join(results, 'judging-limit.json')) as LimitResult;
  const drops = readResult(path.join(results, 'judging-drops.json')) as DropsResult;
  const unseen = readResult(path.join(results, 'judging-drops-unseen.json')) as DropsResult;
  return generatedPage(
    'docs/explanation/calibration/judging.md',
    ['bench/results'],
    [
      '# Calibration of judged relevance',
      'The simulations on this page show how often the intervals of [judged live relevance](../judging.md) contain the truth, and how reliably recalld detects drops in live relevance.',
      ...judgingParagraphs(judging),
      ...explainedVarianceParagraphs(judging, explained),
      ...dropParagraphs(drops, unseen),
    ],
  );
}

/** Maximum ratio of the interval width with a judge to the width with human judgments only. */
const MAX_WIDTH = 1.05;

function judgingParagraphs({ provenance, sessions, cells }: JudgingResult): string[] {
  const short = cells.filter(({ coverage }) => coverage.share < MIN_COVERAGE);
  const wide = cells.filter(({ width }) => width !== null && width > MAX_WIDTH);
  const groups = [...new Set(cells.map(keyOfBudget))].flatMap((key) =>
    [...new Set(cells.map(({ judge }) => judge.kappa))].map((kappa) =>
      cells.filter((cell) => keyOfBudget(cell) === key && cell.judge.kappa === kappa),
    ),
  );
  const biases = [...new Set(cells.map(({ judge }) => judge.bias))];
  return [
    '## Intervals',
    `The simulated live traffic has ${sessions} sessions, of which a fifth is sampled. Queries with poor results are sampled more often. The judge has a bias of ${biases.slice(0, -1).join(', ')} or ${biases.at(-1)} grades. The rows of the table differ in the number of graded queries and in the weighted kappa of the judge. For the worst of the ${biases.length} biases, the first number in a cell is the share of 95 % intervals that contain the true score, which people would give if they graded all traffic. The second number is the interval width relative to the width without the judge. ${short.length === 0 ? `In each of the ${cells.length} simulations, at least ${percent(MIN_COVERAGE)} of the intervals contain the true score.` : `Below ${percent(MIN_COVERAGE)}: ${short.map(inWords).join('; ')}.`} ${wide.length === 0 ? `With any of the judges, intervals are at most ${MAX_WIDTH} times as wide as without a judge.` : `More than ${MAX_WIDTH} times as wide as without the judge: ${wide.map(inWords).join('; ')}.`}`,
    table(
      [
        'Queries graded by people',
        'Queries graded by the judge',
        'Kappa',
        'nDCG',
        'Precision',
        'Hit rate',
        'MRR',
        'Estimated kappa',
      ],
      groups.map((group) => [
        `${group[0]?.budget.people}`,
        `${group[0]?.budget.model}`,
        `${group[0]?.judge.kappa}`,
        ...(['ndcg', 'precision', 'hit_rate', 'mrr', 'agreement'] as const).map((bound) => worstOf(group, bound)),
      ]),
    ),
    measuredBy(provenance),
  ];
}

const keyOfBudget = ({ budget: { people, model } }: JudgedCell): string => `${people}/${model}`;

const inWords = ({ bound, judge: { bias, kappa }, budget: { people, model }, width, coverage }: JudgedCell): string =>
  `${bound} with ${people} queries graded by people and ${model} by the judge, bias ${bias}, kappa ${kappa} (${percent(coverage.share)}${width === null ? '' : `, width ${width.toFixed(2)}`})`;

function worstOf(group: readonly JudgedCell[], bound: JudgedCell['bound']): string {
  const own = group.filter((cell) => cell.bound === bound);
  const share = Math.min(...own.map(({ coverage }) => coverage.share));
  const widths = own.flatMap(({ width }) => width ?? []);
  const held = `${(100 * share).toFixed(1)} %`;
  return widths.length === 0 ? held : `${held}, ${Math.max(...widths).toFixed(2)}`;
}

/**
 * Goal for the interval width with a judge, relative to human judgments only, if the judge grades ten queries for each
 * query that a person grades.
 */
const WIDTH_ASKED = 0.65;
const GRADED_FOR_EACH = 10;

function explainedVarianceParagraphs(
  { cells }: JudgingResult,
  { provenance, kappa, cells: known }: LimitResult,
): string[] {
  const measures = [...new Set(known.map(({ measure }) => measure))];
  const most = (measure: string, of: 'byScore' | 'byAny'): number =>
    Math.max(...known.filter((one) => one.measure === measure).map((one) => one[of]));
  const tenfold = cells.filter(
    ({ judge, budget }) => judge.kappa === kappa && budget.model === GRADED_FOR_EACH * budget.people,
  );
  const enough = Math.max(...tenfold.map(({ budget }) => budget.people));
  const widthOf = (measure: string): number =>
    Math.max(
      ...tenfold.flatMap(({ bound, budget, width }) =>
        bound === measure && budget.people === enough ? (width ?? []) : [],
      ),
    );
  const narrowest = (measure: string): number => Math.sqrt(1 - (1 - 1 / GRADED_FOR_EACH) * most(measure, 'byAny'));
  return [
    `**Width.** The goal is an interval at most ${WIDTH_ASKED} times as wide as without a judge, if kappa is ${kappa} and the judge grades ${GRADED_FOR_EACH} times as many queries as people do. With ${enough} queries graded by people and the worst bias, the relative width is ${measures.map((measure) => `${widthOf(measure).toFixed(2)} for ${measure} (${goal(widthOf(measure) <= WIDTH_ASKED)})`).join(', ')}. Another estimator would help little, because the judge's grades explain only part of the variance of the human score. The table shows the explained share of this variance, for the score that is computed from the judge's grades and for the best predictor that uses them. The *narrowest width* is the smallest possible width relative to the width without a judge: the square root of (1 - ${1 - 1 / GRADED_FOR_EACH} x the explained share), if all queries are sampled with equal probability.`,
    table(
      ['Measure', "Explained by the judge's score", "Maximum that the judge's grades can explain", 'Narrowest width'],
      measures.map((measure) => [
        measure,
        percent(most(measure, 'byScore')),
        percent(most(measure, 'byAny')),
        narrowest(measure).toFixed(2),
      ]),
    ),
    measuredBy(provenance),
  ];
}

/**
 * Goals: the minimum share of streams in which recalld detects the drop, or people decide on it; and the maximum number
 * of false pages a year.
 */
const MIN_CALLED = 0.8;
const MAX_FALSE_PAGES = 1;

const isOfJudge = ({ change }: JudgedChange): boolean => change.startsWith('the judge grades');
const isMisread = ({ change }: JudgedChange): boolean => change.includes('misreads');
const least = (cells: readonly JudgedChange[], of: (cell: JudgedChange) => number): number =>
  Math.min(...cells.map(of));

/** Compares the worst cells with the goals. */
function worstDrops({ quiet, changed }: DropsResult): string {
  const falls = changed.filter((cell) => !isOfJudge(cell) && !isMisread(cell));
  const called = least(falls, (cell) => cell.called.share);
  const confirmed = least(falls, (cell) => cell.confirmed.share);
  const takenBack = least(changed.filter(isMisread), (cell) => cell.takenBack.share);
  const judge = least(changed.filter(isOfJudge), (cell) => cell.judge.share);
  const blamed = Math.max(...changed.filter(isOfJudge).map((cell) => cell.confirmed.share));
  const pages = Math.max(...quiet.map(({ confirmed: { perYear } }) => perYear));
  const calls = Math.max(...quiet.map(({ calls: { perYear } }) => perYear));
  const decided = Math.min(confirmed, takenBack);
  return `${percent(called)} of the drops are detected in time (${goal(called >= MIN_CALLED)}), and people decide on ${percent(decided)} of the drops in time (${goal(decided >= MIN_CALLED)}). recalld opens ${decimal(calls)} false tickets a year. A false ticket leads to a page only if people confirm the drop: ${decimal(pages)} false pages a year (${goal(pages <= MAX_FALSE_PAGES)}). Of the drifting judges, ${percent(judge)} are detected within three days, and ${percent(blamed)} cause a false page within ten days (${goal(blamed === 0)})`;
}

/** `unseen` contains the results of streams on which the rule was not tuned. */
function dropParagraphs(result: DropsResult, unseen: DropsResult): string[] {
  const { provenance, kappa, drop, model, people, quiet, changed } = result;
  return [
    '## Drops of judged live relevance',
    `In each simulated stream, a judge with a weighted kappa of ${kappa} grades ${model} live queries a day, and ${people} of these queries also have human judgments. After six weeks without a change, one of three changes occurs: nDCG drops by ${drop}, users phrase queries in a new way that only the judge misreads, or the judge drifts. In streams with *weekends and days*, sessions with poor results are more frequent on weekends and on some other days.`,
    `There are four goals. In at least ${percent(MIN_CALLED)} of the streams, recalld detects the drop within three days. In the same share of streams, people confirm or reject the drop within ten days. There is at most ${MAX_FALSE_PAGES} false page a year. If only the judge drifts, no page occurs. In the worst scenarios, ${worstDrops(result)}. A detected drop of live relevance opens a ticket; a confirmed drop pages.`,
    table(
      [
        'Without a change',
        'Year-long streams',
        'Detected drops a year',
        'Confirmed by people, a year',
        'Detected judge changes a year',
      ],
      quiet.map((cell) => [
        cell.unrest === 'none' ? 'steady' : cell.unrest,
        `${cell.streams}`,
        `${cell.calls.count}: ${rate(cell.calls)}`,
        `${cell.confirmed.count}: ${rate(cell.confirmed)}`,
        `${cell.judge.count}: ${rate(cell.judge)}`,
      ]),
    ),
    table(
      [
        'Change',
        'Variation',
        'Streams',
        'Detected in 3 days',
        'Confirmed in 10 days',
        'Rejected in 10 days',
        'Judge change detected in 3 days',
        'Drop detected in 12 days',
      ],
      changed.map((cell) => [
        cell.change,
        cell.unrest,
        `${cell.streams}`,
        ...[cell.called, cell.confirmed, cell.takenBack, cell.judge, cell.everCalled].map(shareBounded),
      ]),
    ),
    'A stream counts as both *confirmed* and *rejected* if people first confirm a drop and then, after more grades, reject it.',
    measuredBy(provenance),
    `The rule that detects drops was tuned on the streams in these tables. The rule was then tested on ${unseen.quiet[0]?.streams} other year-long streams and ${unseen.changed[0]?.streams} other streams for each change. In the worst of these other scenarios, ${worstDrops(unseen)}.`,
    measuredBy(unseen.provenance),
  ];
}
