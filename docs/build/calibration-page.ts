/** docs/explanation/calibration.md: what the simulations of false alarms and delays came to. */
import path from 'node:path';
import { type CoverageResult, type CoveredCell, MIN_COVERAGE, TIMES_ANEW } from '../../bench/bound-coverage.ts';
import { rateWithBounds } from '../../bench/bounds.ts';
import type { ChangeCell, LevelDelays, QuietCell } from '../../bench/density/cells.ts';
import type { DensityResult } from '../../bench/density-calibration.ts';
import type { DenseResult } from '../../bench/density-dense.ts';
import type { LookResult } from '../../bench/density-looks.ts';
import type { DropCell } from '../../bench/golden/false-regressions.ts';
import type { NoiseLevel } from '../../bench/golden/noisy-retriever.ts';
import { defaultCheck } from '../../bench/golden/watched-stream.ts';
import type { GoldenResult } from '../../bench/golden-false-regressions.ts';
import type { IndexCoverageResult } from '../../bench/index-coverage.ts';
import type { IndexStoresResult } from '../../bench/index-stores.ts';
import type { CeilingResult } from '../../bench/judging-ceiling.ts';
import type { JudgedCell, JudgingResult } from '../../bench/judging-coverage.ts';
import type { DropsResult, ChangeCell as JudgedChange } from '../../bench/judging-drops.ts';
import { type Provenance, readResult } from '../../bench/result-file.ts';
import type { ShadowRelevanceResult } from '../../bench/shadow-relevance.ts';
import type { ShadowResult } from '../../bench/shadow-reports.ts';
import type { VariantResult } from '../../bench/variant-reports.ts';
import { falseRegressions } from '../../src/checks/rules/false-pages.ts';
import { indexParagraphs, storeParagraphs } from './calibration-index.ts';
import { relevanceParagraphs, shadowParagraphs } from './calibration-shadows.ts';
import { variantParagraphs } from './calibration-variants.ts';
import { code, generatedPage, type Page, table } from './page.ts';

const results = path.resolve(import.meta.dirname, '../../bench/results');

/** False regressions of a check on hourly runs that are accepted, mean over the retrievers. */
const GOLDEN_BUDGET = 1;
export function calibrationPage(): Page {
  const golden = readResult(path.join(results, 'golden-false-regressions.json')) as GoldenResult;
  const density = readResult(path.join(results, 'density-calibration.json')) as DensityResult;
  const dense = readResult(path.join(results, 'density-dense.json')) as DenseResult;
  const looks = readResult(path.join(results, 'density-looks.json')) as LookResult;
  const coverage = readResult(path.join(results, 'bound-coverage.json')) as CoverageResult;
  const judging = readResult(path.join(results, 'judging-coverage.json')) as JudgingResult;
  const ceiling = readResult(path.join(results, 'judging-ceiling.json')) as CeilingResult;
  const drops = readResult(path.join(results, 'judging-drops.json')) as DropsResult;
  const unseen = readResult(path.join(results, 'judging-drops-unseen.json')) as DropsResult;
  const shadows = readResult(path.join(results, 'shadow-reports.json')) as ShadowResult;
  const relevance = readResult(path.join(results, 'shadow-relevance.json')) as ShadowRelevanceResult;
  const variants = readResult(path.join(results, 'variant-reports.json')) as VariantResult;
  const indexes = readResult(path.join(results, 'index-coverage.json')) as IndexCoverageResult;
  const stores = readResult(path.join(results, 'index-stores.json')) as IndexStoresResult | null;
  return generatedPage(
    'docs/explanation/calibration.md',
    ['bench/results'],
    [
      '# Calibration',
      'How often alarms come when nothing happened, and how soon when something did: by simulation, with the code that judges in the daemon; and how often bounds hold the truth. What is not here was not simulated: the false pages that `recalld config check` expects of floors, of thresholds on live measures and of index recall rest on formulas. The commands below write `bench/results`; `npm run bench:calibration` runs them all and makes this page. Bounds are 95 %.',
      ...goldenParagraphs(golden),
      ...densityParagraphs(density),
      ...denseParagraphs(dense),
      ...lookParagraphs(looks),
      ...boundParagraphs(coverage),
      ...judgingParagraphs(judging),
      ...ceilingParagraphs(judging, ceiling),
      ...dropParagraphs(drops, unseen),
      ...shadowParagraphs(shadows),
      measuredBy(shadows.provenance),
      ...relevanceParagraphs(relevance),
      measuredBy(relevance.provenance),
      ...variantParagraphs(variants),
      measuredBy(variants.provenance),
      ...indexParagraphs(indexes),
      measuredBy(indexes.provenance),
      ...(stores === null ? [] : [...storeParagraphs(stores), measuredBy(stores.provenance)]),
    ],
  );
}

function boundParagraphs({ provenance, cells, drawnAnew }: CoverageResult): string[] {
  const rows = [...new Set(cells.map(({ bound }) => bound))].map((bound) => {
    const worlds = cells.filter((cell) => cell.bound === bound);
    const worst = worlds.reduce((a, b) => (b.coverage.share < a.coverage.share ? b : a));
    return [bound, `${worlds.length}`, covered(worst), worst.world];
  });
  const short = cells.filter(({ coverage }) => coverage.share < MIN_COVERAGE);
  return [
    '## How often bounds hold',
    `Of everything that is exported with 95 % bounds: how often they hold the truth, in the worst of the simulated worlds of its kind. ${short.length === 0 ? `None of the ${cells.length} is below ${percent(MIN_COVERAGE)}.` : `Below ${percent(MIN_COVERAGE)}: ${short.map(({ bound, world }) => `${bound} of ${world}`).join('; ')}.`}${drawnAnew.length === 0 ? '' : ` Where one came below in its first draws, all worlds of the kind were drawn anew, ${TIMES_ANEW} times as often: ${drawnAnew.join(', ')}.`} Bounds of the number of live queries are for those that came; all others are for the questions, users and sessions that might have come as well.`,
    table(['Bounds', 'Worlds', 'Hold the truth in', 'Worst world'], rows),
    measuredBy(provenance),
  ];
}

/** By how much the bounds with a judge may be wider than those of people alone. */
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
    '## Judged live relevance',
    `Live traffic of ${sessions} sessions, a fifth of which is kept, and badly answered queries more often; a judge with a bias of ${biases.join(', ')} grades and the agreement with people (weighted kappa) of the row. How often the 95 % bounds hold what people would say of all traffic, in the worst of the ${biases.length} biases, and how wide they are, as a multiple of the bounds of the same people without the judge. ${short.length === 0 ? `None of the ${cells.length} cells is below ${percent(MIN_COVERAGE)}.` : `Below ${percent(MIN_COVERAGE)}: ${short.map(inWords).join('; ')}.`} ${wide.length === 0 ? `No judge makes bounds wider than ${MAX_WIDTH} times those of people alone.` : `Wider than ${MAX_WIDTH} times those of people alone: ${wide.map(inWords).join('; ')}.`}`,
    table(
      ['Queries graded by people', 'by the judge', 'Kappa', 'nDCG', 'Precision', 'Hit rate', 'MRR', 'Kappa itself'],
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
  `${bound} by ${people} and ${model} queries, bias ${bias}, kappa ${kappa} (${percent(coverage.share)}${width === null ? '' : `, width ${width.toFixed(2)}`})`;

function worstOf(group: readonly JudgedCell[], bound: JudgedCell['bound']): string {
  const own = group.filter((cell) => cell.bound === bound);
  const share = Math.min(...own.map(({ coverage }) => coverage.share));
  const widths = own.flatMap(({ width }) => width ?? []);
  const held = `${(100 * share).toFixed(1)} %`;
  return widths.length === 0 ? held : `${held}, ${Math.max(...widths).toFixed(2)}`;
}

/** Width of bounds with a judge over that of people alone that is asked for, at its kappa and ten graded for each by a person. */
const WIDTH_ASKED = 0.65;
const GRADED_FOR_EACH = 10;

function ceilingParagraphs({ cells }: JudgingResult, { provenance, kappa, cells: known }: CeilingResult): string[] {
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
    `**Width**: asked for is at most ${WIDTH_ASKED} of the width of people alone at a kappa of ${kappa}, with ${GRADED_FOR_EACH} queries graded by the judge for each by a person. With ${enough} by people, in the worst of the biases, it is ${measures.map((measure) => `${measure} ${widthOf(measure).toFixed(2)} (${kept(widthOf(measure) <= WIDTH_ASKED)})`).join(', ')}. Another estimate would help little. What such a judge gives the documents of a query settles only a part of what people's score of it is: below, the share of the variance that is known from the judge's score, and from any use of its grades at all, for the bias at which it is largest. From it follows the narrowest that bounds can be when queries are drawn with equal chances, the root of 1 - ${1 - 1 / GRADED_FOR_EACH} times that share; unequal chances move it a little.`,
    table(
      ['Measure', 'Known from its score', 'From any use of the grades', 'Narrowest'],
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

/** What is asked of falls of judged relevance: share of the streams that are called, and settled by people; pages a year. */
const MIN_CALLED = 0.8;
const MAX_FALSE_PAGES = 1;

const isOfJudge = ({ change }: JudgedChange): boolean => change.startsWith('the judge grades');
const isMisread = ({ change }: JudgedChange): boolean => change.includes('reads badly');
const least = (cells: readonly JudgedChange[], of: (cell: JudgedChange) => number): number =>
  Math.min(...cells.map(of));
const kept = (isKept: boolean): string => `*${isKept ? 'kept' : 'missed'}*`;

/** Of the worst cells, held against what is asked for. */
function worstDrops({ quiet, changed }: DropsResult): string {
  const falls = changed.filter((cell) => !isOfJudge(cell) && !isMisread(cell));
  const called = least(falls, (cell) => cell.called.share);
  const confirmed = least(falls, (cell) => cell.confirmed.share);
  const takenBack = least(changed.filter(isMisread), (cell) => cell.takenBack.share);
  const judge = least(changed.filter(isOfJudge), (cell) => cell.judge.share);
  const blamed = Math.max(...changed.filter(isOfJudge).map((cell) => cell.confirmed.share));
  const pages = Math.max(...quiet.map(({ confirmed: { perYear } }) => perYear));
  const calls = Math.max(...quiet.map(({ calls: { perYear } }) => perYear));
  const settled = Math.min(confirmed, takenBack);
  return `${percent(called)} are called (${kept(called >= MIN_CALLED)}), ${percent(settled)} settled (${kept(settled >= MIN_CALLED)}), ${calls.toFixed(2)} false calls a year are made, tickets, of which people confirm ${pages.toFixed(2)}, pages (${kept(pages <= MAX_FALSE_PAGES)}); of the judges that drift ${percent(judge)} are called within three days, and ${percent(blamed)} page as a fall within ten (${kept(blamed === 0)})`;
}

/** @param unseen the same on streams that the rule was not tuned on */
function dropParagraphs(result: DropsResult, unseen: DropsResult): string[] {
  const { provenance, kappa, drop, model, people, quiet, changed } = result;
  return [
    '## Falls of judged live relevance',
    `${model} live queries a day are graded by a judge with a weighted kappa of ${kappa}, ${people} of them by people too, after six weeks without a change. Then nDCG falls by ${drop}, or people ask in a new way that the judge alone misreads, or the judge drifts. In the restless streams badly answered sessions come more often on some days, and on weekends. The judge gives some of the same pairs another grade each time.`,
    `Asked for: a fall is called within three days of its onset in at least ${percent(MIN_CALLED)} of the streams, and people confirm it, or take back what is none, within ten in as many; at most ${MAX_FALSE_PAGES} false page a year; a judge that drifts is called as such, and never pages as a fall. In the worst cells ${worstDrops(result)}. A fall is a ticket when it is called and a page when people confirm it.`,
    table(
      ['Nothing changes', 'Streams of a year', 'Calls a year', 'Confirmed by people', 'Changes of the judge a year'],
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
        'Unrest',
        'Streams',
        'Called in 3 days',
        'Confirmed in 10',
        'Taken back in 10',
        'Judge called in 3',
        'Called as a fall in 12',
      ],
      changed.map((cell) => [
        cell.change,
        cell.unrest,
        `${cell.streams}`,
        ...[cell.called, cell.confirmed, cell.takenBack, cell.judge, cell.everCalled].map(shareBounded),
      ]),
    ),
    'A stream counts as confirmed and as taken back when people say the one at first and the other with more grades.',
    measuredBy(provenance),
    `The rule was tuned on those streams. On streams that it had not met, ${unseen.quiet[0]?.streams} of a year and ${unseen.changed[0]?.streams} of each change, in the worst cells ${worstDrops(unseen)}.`,
    measuredBy(unseen.provenance),
  ];
}

function covered({ coverage: { share, low, high } }: CoveredCell): string {
  return `${(100 * share).toFixed(1)} % (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})`;
}

function measuredBy({ command, seed, date, machine, node, seconds }: Provenance): string {
  return `Measured on ${date} by ${code(command)} (seed ${seed}; ${machine}; Node.js ${node}; ${Math.ceil(seconds / 60)} minutes, on a machine that did other work too).`;
}

/** What was promised of true drops, by the noise of the retriever. */
const promises = [
  { noise: 'none', queries: 100, drop: 0.05, runs: 2, share: 1 },
  { noise: 'flips, few', queries: 100, drop: 0.05, runs: 48, share: 0.7 },
  { noise: 'flips', queries: 300, drop: 0.05, runs: 48, share: 0.8 },
  { noise: 'flips, few', queries: 300, drop: 0.03, runs: 48, share: 0.9 },
] as const;

function goldenParagraphs(result: GoldenResult): string[] {
  const { unchanged, dropped, check, days, reruns, noiseLevels } = result;
  const usual = unchanged.filter((cell) => cell.reruns === reruns);
  const worst = usual.reduce((a, b) => (b.falseRegressions.mean > a.falseRegressions.mean ? b : a));
  const over = usual.filter(({ falseRegressions: { mean } }) => mean > GOLDEN_BUDGET);
  const kept = promises.map((promise) => {
    const cell = dropped.find(
      (one) =>
        one.noise === promise.noise &&
        one.queries === promise.queries &&
        one.drop === promise.drop &&
        one.churn === 0 &&
        one.reruns === reruns,
    );
    const share = cell === undefined ? Number.NaN : calledWithin(cell, promise.runs);
    const { noise, queries, drop, runs } = promise;
    return [noise, `${queries}`, `${drop}`, `${runs}`, percent(promise.share), percent(share)];
  });
  return [
    '## Regressions of golden runs',
    `Each stream is a retriever, asked every hour for ${days} days, with a check of a drop of ${check.drop}, alpha ${check.alpha}, ${check.runs} runs in a row, against a baseline that is pinned with ${reruns} runs where nothing else is said. The index stays the same or is rebuilt every night; what that is judged by is in [decision 12](../decisions/0012-what-is-known-before-a-run.md).`,
    table(
      ['Noise', 'In a run', 'Every night'],
      noiseLevels.map((level) => [level.name, ...describeLevel(level)]),
    ),
    `**Budget**: at most ${GOLDEN_BUDGET} false regression of a check in ${days} days of hourly runs, mean over retrievers. The worst of ${usual.length} cells with ${reruns} reruns (${worst.noise}, ${worst.queries} queries, ${worst.measure}@10) has ${bounded(worst.falseRegressions)}; \`recalld config check\`, which knows nothing of the noise, expects ${falseRegressions(defaultCheck, days * result.runsPerDay).toFixed(2)} ([alert tuning](../how-to/alert-tuning.md)). It is ${over.length === 0 ? status(worst.falseRegressions.mean, worst.falseRegressions.high, GOLDEN_BUDGET) : `*missed* in ${over.length} of them`}.`,
    '**Power**: how often a true drop of nDCG is to be called, and is:',
    table(['Noise', 'Queries', 'Drop', 'Within runs', 'To be called', 'Called'], kept),
    'What queries of a run share is what costs: no test of one run can tell it from a real drop, so that it is taken from the reruns, at its upper 95 % bound, since a baseline is judged against for months. Five reruns know it badly; pin a baseline with ten or more. What false regressions there are come in rows, to the few streams whose reruns were lucky: pin another. A shared noise as large as the drop that is watched for hides true drops: watch for a larger one, or mend the noise. Nights that move all queries alike page for nothing before five of them are known, and so do rebuilds that are not seen; the hit rate moves by a quarter more than nDCG, of which the shift is stated. After a rebuild a drop is found as the paired test finds it, or less where nights differ by as much.',
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
    'True drops of nDCG; with churn, a tenth of the queries also come out anew, better or worse. An index that is rebuilt has been for 20 nights, and the drop comes with one. Share of the streams in which it is called by the second run, which is the first that can, and later:',
    table(
      ['Noise', 'Queries', 'Reruns', 'Drop', 'Churn', 'Streams', '2 runs', '24 runs', '48 runs', '168 runs'],
      dropped.map((cell) => [
        cell.noise,
        `${cell.queries}`,
        `${cell.reruns}`,
        `${cell.drop}`,
        percent(cell.churn),
        `${cell.streams}`,
        ...[2, 24, 48, 168].map((runs) =>
          Number.isNaN(calledWithin(cell, runs)) ? '-' : percent(calledWithin(cell, runs)),
        ),
      ]),
    ),
    measuredBy(result.provenance),
  ];
}

/** What a level of noise does in a run and over night. */
function describeLevel({ restless, flips, shared, replicas, rebuild }: NoiseLevel): [string, string] {
  const run = [
    restless > 0 ? `${percent(restless)} of the queries move by up to three ranks` : '',
    flips > 0 ? `${percent(flips)} of the queries come out anew` : '',
    shared > 0 ? `a rise or fall of all queries, SD ${shared} nDCG` : '',
    replicas === 'none' ? '' : `one of three replicas answers ${replicas}, a tenth of the queries in its own way`,
  ].filter((part) => part !== '');
  const night =
    rebuild === null
      ? []
      : [
          rebuild.redraw > 0 ? `${percent(rebuild.redraw)} of the queries come out anew` : '',
          rebuild.shared > 0 ? `a rise or fall of all queries, SD ${rebuild.shared} nDCG` : '',
          rebuild.wanders ? 'from where the night before left them' : '',
          rebuild.isSeen ? '' : 'unseen by recalld',
        ].filter((part) => part !== '');
  return [run.length === 0 ? '-' : run.join(', '), night.length === 0 ? '-' : night.join(', ')];
}

function calledWithin(cell: DropCell, runs: number): number {
  return cell.calledWithin.find((one) => one.runs === runs)?.share.share ?? Number.NaN;
}

function densityParagraphs(result: DensityResult): string[] {
  const { quiet, changed, worlds, baselineDays, budget } = result;
  const years = quiet.reduce((sum, { alerts }) => sum + alerts.page.years, 0);
  const streams = quiet.reduce((sum, cell) => sum + cell.streams, 0);
  const total = (level: 'page' | 'ticket') =>
    rateWithBounds(
      quiet.reduce((sum, { alerts }) => sum + alerts[level].count, 0),
      years,
    );
  const [pages, tickets] = [total('page'), total('ticket')];
  const perYear = (budget.count * 365 * 86_400_000) / budget.periodMs;
  return [
    '## Alarms of query density',
    `Each stream learns its baseline from ${baselineDays} days of traffic and is watched for ${quiet[0]?.days ?? 0} days more, in windows of an hour. Traffic has days and weekends in volume and topics, sessions of three queries by one person, bots that repeat one question, topics in the news for a day, and a popularity of topics that wanders over weeks. *Synthetic* worlds (${worlds}) have 60 topics in 10 groups; a *near* topic lies in a group that the store holds, a *far* one in none. *Articles* are real questions about Wikipedia articles with the embedder of the demo; six articles are left out of the store.${result.score === undefined ? ' It was measured while the score of a query was the mean cosine to its five nearest chunks.' : ''}`,
    `**Budget**: ${perYear} false page a year, the default of \`alerts.false_pages.drift\`. In ${streams} streams, ${years.toFixed(1)} years together, there were ${pages.count} false pages: ${rate(pages)} a year (exact Poisson bounds). Of tickets, which have the same threshold and milder floors, there were ${tickets.count}: ${rate(tickets)} a year. The budget is ${status(pages.perYear, pages.high, perYear)}.`,
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

/** What is asked of the watch and of one look, on vectors of a neural encoder. */
const DENSE_BARS = { tickets: 2, calls: { 0: 0.02, 10: 0.3, 20: 0.8 } } as const;

function denseParagraphs({ provenance, scores, quiet, changed }: DenseResult): string[] {
  const candidates = Object.keys(scores[0]?.auc ?? {});
  const pages = quiet.reduce((sum, { alerts }) => sum + alerts.page.count, 0);
  const worst = quiet.reduce((a, b) => (b.alerts.ticket.perYear > a.alerts.ticket.perYear ? b : a));
  const soon = Math.min(...changed.filter(isLarge).map(({ pagedInTwoDays }) => pagedInTwoDays.share));
  return [
    '## Query density on dense vectors',
    'The same questions about Wikipedia articles, by a neural sentence encoder of 512 dimensions. *Repeated questions* are asked as they were written, so that each is asked many times; otherwise they come in four wordings. Six articles are left out of the store, and six that it holds are asked for by nobody at first. Popularity is log-normal with a standard deviation of 0.8.',
    'Which score tells covered questions from uncovered ones: probability that a covered question scores higher than one whose content is missing (0.5 is chance), mean over the worlds. The daemon takes the cosine of the nearest chunk less half of the mean to the store ([decision 13](../decisions/0013-score-of-the-nearest-chunk.md)).',
    table(
      ['World', 'Chunks', ...candidates],
      scores.map(({ world, chunks, auc }) => [
        world,
        `${chunks}`,
        ...candidates.map((name) => (auc[name] ?? Number.NaN).toFixed(2)),
      ]),
    ),
    `The watch over ${quiet[0]?.queriesPerHour ?? 0} questions an hour while nothing is lost, ${quiet[0]?.days ?? 0} days after the baseline. Popularity wanders over two weeks, by a standard deviation of its logarithm of 0.2, or 0.6 where it is strong, and nearly always some topic has a campaign of ten days in which it is asked for four times as often. Asked for: no page, and at most ${DENSE_BARS.tickets} tickets a year in each world. Pages in all: ${pages}; the most tickets, ${worst.alerts.ticket.perYear.toFixed(1)} a year, came in ${worst.world} with ${worst.unrest}: *${pages === 0 && worst.alerts.ticket.perYear <= DENSE_BARS.tickets ? 'kept' : 'missed'}*.`,
    table(
      ['World', 'Unrest', 'Streams', 'Overdispersion', 'False pages a year', 'False tickets a year'],
      quiet.map(({ world, unrest, streams, overdispersion, alerts }) => [
        world,
        unrest,
        `${streams}`,
        overdispersion.toFixed(2),
        `${alerts.page.count}: ${rate(alerts.page)}`,
        `${alerts.ticket.count}: ${rate(alerts.ticket)}`,
      ]),
    ),
    `The same with a change, in the weaker unrest. Asked for: a fifth uncovered is paged within two days in at least 80 % of the streams. It came to ${percent(soon)} in the worse of both worlds: *${soon >= DENSE_BARS.calls[20] ? 'kept' : 'missed'}*.`,
    table(
      [
        'World',
        'Change',
        'Streams',
        'Density',
        'Paged within 2 days',
        'Paged within 14 days',
        'Ticket within 14 days',
        'Hours to the page',
      ],
      changed.map(({ world, change, streams, density, pagedInTwoDays, levels }) => [
        world,
        change,
        `${streams}`,
        density.toFixed(2),
        shareBounded(pagedInTwoDays),
        percent(levels.page.found.share),
        percent(levels.ticket.found.share),
        hours(levels.page),
      ]),
    ),
    'What geometry cannot see: a gap inside of a subject that the store holds otherwise. Its questions are as near to the chunks that are there as covered ones are, and no score of similarities tells them apart; of the articles above some are like that, which is why a fifth of the traffic is not always found. Whether what came back answers the question is for judgments to say ([density.md](density.md#what-it-cannot-see)).',
    'Where false tickets come from: within a region a topic that was always covered worse than its neighbours, and is asked for much more often than in the baseline, looks like a loss. It is one by the measure: those people are covered worse than people were. A new baseline takes it for normal. Four streams of a kind are few: on other seeds a strong wander had a page too ([decision 21](../decisions/0021-how-far-a-region-may-fall.md)).',
    measuredBy(provenance),
  ];
}

function lookParagraphs({ provenance, looks }: LookResult): string[] {
  const [none, tenth, fifth] = [0, 10, 20].map((share) => worstCall(looks, share));
  const isMet =
    (none ?? 1) <= DENSE_BARS.calls[0] && (tenth ?? 0) >= DENSE_BARS.calls[10] && (fifth ?? 0) >= DENSE_BARS.calls[20];
  const [first] = looks;
  return [
    `One look, as \`recalld drift\` takes it: ${first?.reference ?? 0} reference questions and ${first?.current ?? 0} current ones, alpha ${first?.alpha ?? 0}, another article each time. Asked for: no change called in at most ${percent(DENSE_BARS.calls[0])} of the draws, a tenth uncovered in at least ${percent(DENSE_BARS.calls[10])}, a fifth in at least ${percent(DENSE_BARS.calls[20])}. It came to ${percent(none ?? Number.NaN)}, ${percent(tenth ?? Number.NaN)} and ${percent(fifth ?? Number.NaN)} in the worse of both worlds: *${isMet ? 'kept' : 'missed'}*.`,
    table(
      ['World', 'Change', 'Draws', 'Density', 'Called worse covered'],
      looks.map(({ world, change, draws, density, called: share }) => [
        world,
        change,
        `${draws}`,
        density.toFixed(2),
        shareBounded(share),
      ]),
    ),
    measuredBy(provenance),
  ];
}

/** Share of the draws in which a topic with so many percent of the traffic is called, 0 for none, in the world where that is worst. */
function worstCall(looks: LookResult['looks'], share: number): number {
  const name = share === 0 ? 'none' : `the store lacks, ${share} %`;
  const shares = looks.filter(({ change }) => change.endsWith(name)).map(({ called: { share: of } }) => of);
  return share === 0 ? Math.max(...shares) : Math.min(...shares);
}

function isLarge({ change }: DenseResult['changed'][number]): boolean {
  return change.startsWith('uncovered') && change.includes('20 %');
}

function shareBounded({
  share,
  low,
  high,
}: {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}): string {
  return `${percent(share)} (${percent(low)} to ${percent(high)})`;
}

function quietRow({ world, queriesPerHour, streams, sessionsPerHour, overdispersion, alerts }: QuietCell): string[] {
  return [
    world,
    `${queriesPerHour}`,
    `${streams}`,
    sessionsPerHour.toFixed(0),
    overdispersion.toFixed(2),
    `${alerts.page.count}: ${rate(alerts.page)}`,
    `${alerts.ticket.count}: ${rate(alerts.ticket)}`,
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

function status(value: number, high: number, budget: number): string {
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
