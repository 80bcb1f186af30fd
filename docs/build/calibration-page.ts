/** docs/calibration.md: what the simulations of false alarms and delays came to. */
import path from 'node:path';
import { rateWithBounds } from '../../bench/bounds.ts';
import type { ChangeCell, LevelDelays, QuietCell } from '../../bench/density/cells.ts';
import type { DensityResult } from '../../bench/density-calibration.ts';
import type { DropCell, NullCell } from '../../bench/golden/false-regressions.ts';
import type { GoldenResult } from '../../bench/golden-false-regressions.ts';
import { type Provenance, readResult } from '../../bench/result-file.ts';
import { falseRegressions } from '../../src/checks/rules/false-pages.ts';
import { code, generatedPage, type Page, table } from './page.ts';

const results = path.resolve(import.meta.dirname, '../../bench/results');

/** False regressions of a check on hourly runs that are accepted, mean over the retrievers. */
const GOLDEN_BUDGET = 1;
/** Standard deviation of the difference of two runs' means up to which the delay is promised. */
const CLEAR_NOISE = 0.01;
const PROMISED_RUNS = 24;
const PROMISED_QUERIES = 300;

export function calibrationPage(): Page {
  const golden = readResult(path.join(results, 'golden-false-regressions.json')) as GoldenResult;
  const density = readResult(path.join(results, 'density-calibration.json')) as DensityResult;
  return generatedPage(
    'docs/calibration.md',
    ['bench/results'],
    [
      '# Calibration',
      'How often alarms come when nothing happened, and how soon when something did: by simulation, with the code that judges in the daemon. Both commands below write `bench/results`; `npm run bench:calibration` runs both and makes this page. Bounds are 95 %.',
      ...goldenParagraphs(golden),
      ...densityParagraphs(density),
    ],
  );
}

function measuredBy({ command, seed, date, machine, node, seconds }: Provenance): string {
  return `Measured on ${date} by ${code(command)} (seed ${seed}; ${machine}; Node.js ${node}; ${Math.ceil(seconds / 60)} minutes, on a machine that did other work too).`;
}

function goldenParagraphs(result: GoldenResult): string[] {
  const { unchanged, dropped, check, days, reruns, noiseLevels } = result;
  const usual = unchanged.filter((cell) => cell.reruns === reruns);
  const worst = usual.reduce((a, b) => (b.falseRegressions.mean > a.falseRegressions.mean ? b : a));
  const promised = dropped.filter((cell) => isPromised(cell, unchanged, reruns));
  const least = Math.min(...promised.map((cell) => calledWithin(cell, PROMISED_RUNS)));
  return [
    '## Regressions of golden runs',
    `Each stream is a retriever over an index that does not change, asked every hour for ${days} days, with a check of the example config: a drop of ${check.drop}, alpha ${check.alpha}, ${check.runs} runs in a row, against one pinned run. Its noise is measured by that run and those right before it, ${reruns} in all, as \`recalld baselines pin\` takes them.`,
    table(
      [
        'Noise',
        'Queries that move by up to three ranks in a run',
        'SD of a rise or fall that all queries of a run share, nDCG',
      ],
      noiseLevels.map(({ name, restless, shared }) => [name, percent(restless), `${shared}`]),
    ),
    `**Budget**: at most ${GOLDEN_BUDGET} false regression of a check in ${days} days of hourly runs, mean over retrievers. The worst of ${usual.length} cells with ${reruns} reruns (${worst.noise}, ${worst.queries} queries, ${worst.measure}@10) has ${bounded(worst.falseRegressions)}; \`recalld config check\`, which knows nothing of the noise, expects ${falseRegressions(check, days * result.runsPerDay).toFixed(2)} ([alert tuning](alert-tuning.md)). It is ${standing(worst.falseRegressions.mean, worst.falseRegressions.high, GOLDEN_BUDGET)}.`,
    `**Delay**: a true drop of 0.05 nDCG with ${PROMISED_QUERIES} queries, where the mean of an unchanged retriever moves by no more than ${CLEAR_NOISE} from run to run, is called within ${PROMISED_RUNS} runs in ${percent(least)} of the streams or more.`,
    'What queries of a run share is what costs: no test of one run can tell it from a real drop, so that it is taken from the reruns, at its upper 95 % bound, since a baseline is judged against for months. Five reruns know it too badly; pin a baseline with ten or more. What false regressions there are come in rows, to the few streams whose pinned run was a lucky one: pin another. A shared noise as large as the drop that is watched for hides true drops: watch for a larger one, or mend the noise.',
    table(
      [
        'Noise',
        'Queries',
        'Reruns',
        'Measure',
        'Streams',
        'SD of the difference',
        `False regressions in ${days} days`,
        'Streams with any',
      ],
      unchanged.map((cell) => [
        cell.noise,
        `${cell.queries}`,
        `${cell.reruns}`,
        `${cell.measure}@10`,
        `${cell.streams}`,
        cell.noiseOfDifference.toFixed(4),
        bounded(cell.falseRegressions),
        percent(cell.streamsWithAny.share),
      ]),
    ),
    'A drop of 0.05 nDCG; with churn, a tenth of the queries also come out anew, better or worse. Share of the streams in which it is called by the second run, which is the first that can, and later:',
    table(
      ['Noise', 'Queries', 'Reruns', 'Churn', 'Streams', '2 runs', '24 runs', '168 runs', 'Median delay, runs'],
      dropped.map((cell) => [
        cell.noise,
        `${cell.queries}`,
        `${cell.reruns}`,
        percent(cell.churn),
        `${cell.streams}`,
        ...[2, 24, 168].map((runs) => percent(calledWithin(cell, runs))),
        cell.medianDelayRuns === null ? 'more than 168' : `${cell.medianDelayRuns}`,
      ]),
    ),
    measuredBy(result.provenance),
  ];
}

function isPromised(cell: DropCell, unchanged: readonly NullCell[], reruns: number): boolean {
  const same = unchanged.find(
    ({ noise, queries, measure, ...other }) =>
      noise === cell.noise && queries === cell.queries && other.reruns === cell.reruns && measure === 'ndcg',
  );
  const isClear = same !== undefined && same.noiseOfDifference <= CLEAR_NOISE;
  return isClear && cell.queries === PROMISED_QUERIES && cell.reruns === reruns;
}

function calledWithin(cell: DropCell, runs: number): number {
  return cell.calledWithin.find((one) => one.runs === runs)?.share.share ?? Number.NaN;
}

function densityParagraphs(result: DensityResult): string[] {
  const { quiet, changed, worlds, baselineDays, budget } = result;
  const years = quiet.reduce((sum, { alarms }) => sum + alarms.page.years, 0);
  const streams = quiet.reduce((sum, cell) => sum + cell.streams, 0);
  const total = (level: 'page' | 'ticket') =>
    rateWithBounds(
      quiet.reduce((sum, { alarms }) => sum + alarms[level].count, 0),
      years,
    );
  const [pages, tickets] = [total('page'), total('ticket')];
  const perYear = (budget.count * 365 * 86_400_000) / budget.periodMs;
  return [
    '## Alarms of query density',
    `Each stream learns its baseline from ${baselineDays} days of traffic and is watched for ${quiet[0]?.days ?? 0} days more, in windows of an hour. Traffic has days and weekends in volume and topics, sessions of three queries by one person, bots that repeat one question, topics in the news for a day, and a popularity of topics that wanders over weeks. *Synthetic* worlds (${worlds}) have 60 topics in 10 groups; a *near* topic lies in a group that the store holds, a *far* one in none. *Articles* are real questions about Wikipedia articles with the embedder of the demo; six articles are left out of the store.`,
    `**Budget**: ${perYear} false page a year, the default of \`alerts.false_pages.drift\`. In ${streams} streams, ${years.toFixed(1)} years together, there were ${pages.count} false pages: ${rate(pages)} a year (exact Poisson bounds). Of tickets, which have the same threshold and milder floors, there were ${tickets.count}: ${rate(tickets)} a year. The budget is ${standing(pages.perYear, pages.high, perYear)}.`,
    table(
      [
        'World',
        'Queries an hour',
        'Streams',
        'Sessions an hour',
        'Overdispersion',
        'False pages a year',
        'False tickets a year',
      ],
      quiet.map(quietRow),
    ),
    'The same pipelines with a change, watched for 14 days. Density is that of all traffic after the change. Found is the share of the streams with a page in that time, and delays are medians over all streams from the change to the page. The cause is the one that the first alarm names, counted over the streams; a topic is named when most members of the largest uncovered topic ask for what is missing.',
    ...[...new Set(changed.map(placeOf))].map((place) =>
      table(
        [place, 'Density', 'Found', 'Hours', 'Queries', 'Ticket found', 'Ticket hours', 'Cause', 'Topic named'],
        changed.filter((cell) => placeOf(cell) === place).map(changeRow),
      ),
    ),
    'What to read from it:',
    [
      '- Two percent of traffic is for the topics page and for tickets, not for pages; 30 queries an hour show a twentieth of the traffic late or never.',
      '- A near topic can be hidden for good: in one of the synthetic worlds the questions of its region are covered as badly as its own, and density compares within regions.',
      '- Traffic that repeats few questions, as the articles do, reads above 1 in the baseline already, because equal scores count as covered as well: what is found of it is found later, and never by more false alarms.',
      '- Another mix of covered topics pages next to never while topics keep their order of size (factors of exp(0.5 z), z normal); a mix that is turned over (factors of exp(z)) can, most of all at high volume.',
      '- Another embedding model is named by the canary in the first hour, before any page.',
      '- The questions of a near topic pass for old ones more often than not, at any volume, and those of a far one in a third of the alarms. The golden queries did not bear out the loss that these runs read from it; such an alarm is now read as a content gap of low confidence, unless chunks are found missing.',
    ].join('\n'),
    measuredBy(result.provenance),
  ];
}

function quietRow({ world, queriesPerHour, streams, sessionsPerHour, overdispersion, alarms }: QuietCell): string[] {
  return [
    world,
    `${queriesPerHour}`,
    `${streams}`,
    sessionsPerHour.toFixed(0),
    overdispersion.toFixed(2),
    `${alarms.page.count}: ${rate(alarms.page)}`,
    `${alarms.ticket.count}: ${rate(alarms.ticket)}`,
  ];
}

function placeOf({ world, queriesPerHour, streams }: ChangeCell): string {
  return `${world}, ${queriesPerHour} queries an hour, ${streams} streams`;
}

function changeRow({ change, density, levels, causes, namedTopic, streams }: ChangeCell): string[] {
  const causeText = Object.entries(causes)
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([cause, count]) => `${cause} ${count}`);
  return [
    change,
    density.toFixed(2),
    percent(levels.page.found.share),
    hours(levels.page),
    levels.page.medianQueries === null ? '-' : `${levels.page.medianQueries}`,
    percent(levels.ticket.found.share),
    hours(levels.ticket),
    causeText.length === 0 ? '-' : causeText.join('; '),
    `${namedTopic} of ${streams}`,
  ];
}

function standing(value: number, high: number, budget: number): string {
  if (value > budget) return '*missed*';
  return high <= budget ? '*kept*, also by the upper bound' : '*kept*, though not by the upper bound';
}

function hours({ medianHours }: LevelDelays): string {
  return medianHours === null ? '-' : `${medianHours}`;
}

function bounded({ mean, low, high }: { readonly mean: number; readonly low: number; readonly high: number }): string {
  return `${mean.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

function rate({
  perYear,
  low,
  high,
}: {
  readonly perYear: number;
  readonly low: number;
  readonly high: number;
}): string {
  return `${perYear.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
