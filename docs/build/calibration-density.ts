/** docs/explanation/calibration/density.md: false pages about query density, and how soon changes are detected. */
import path from 'node:path';
import { rateWithBounds } from '../../bench/bounds.ts';
import type { ChangeCell, LevelDelays, QuietCell } from '../../bench/density/cells.ts';
import type { DensityResult } from '../../bench/density-calibration.ts';
import type { DenseResult } from '../../bench/density-dense.ts';
import type { LookResult } from '../../bench/density-looks.ts';
import { readResult } from '../../bench/result-file.ts';
import { measuredBy, met, percent, rate, shareBounded, status } from './calibration-text.ts';
import { generatedPage, type Page, table } from './page.ts';

export function densityCalibrationPage(results: string): Page {
  const density = readResult(path.join(results, 'density-calibration.json')) as DensityResult;
  const dense = readResult(path.join(results, 'density-dense.json')) as DenseResult;
  const looks = readResult(path.join(results, 'density-looks.json')) as LookResult;
  const strong = ['minilm', 'minilm-papers'].map((encoder) => ({
    dense: readResult(path.join(results, `density-dense-${encoder}.json`)) as DenseResult,
    looks: readResult(path.join(results, `density-looks-${encoder}.json`)) as LookResult,
  }));
  return generatedPage(
    'docs/explanation/calibration/density.md',
    ['bench/results'],
    [
      '# Calibration of query density',
      'The simulations on this page show how often alerts on [query density](../density.md) fire although nothing changed, and how soon they fire after a change. A *page* is a critical alert, and a *ticket* is a warning.',
      ...densityParagraphs(density),
      ...denseParagraphs(dense),
      ...lookParagraphs(looks),
      ...strongParagraphs(strong),
    ],
  );
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
    '## Sparse and synthetic vectors',
    `In each simulated stream, recalld learns the baseline from ${baselineDays} days of traffic and then monitors ${quiet[0]?.days ?? 0} more days in hourly windows. The simulated traffic has daily and weekly cycles, sessions of three queries, bots that repeat one query, news topics, and slowly changing popularity. The ${worlds} *synthetic* scenarios have 60 topics in 10 groups; a *near* topic is in a group that the store covers, and a *far* topic is not. The *articles* scenarios use real queries about Wikipedia articles with the demo's embedder; the store lacks six of the articles.${result.score === undefined ? ' The score of a query was then the mean cosine to its five nearest chunks.' : ''}`,
    `**Budget**: ${perYear} false page a year, the default of \`alerts.false_pages.drift\`. In ${streams} streams that cover ${years.toFixed(1)} years in total, there were ${pages.count} false pages: ${rate(pages)} a year (exact Poisson bounds). In the same streams, there were ${tickets.count} false tickets: ${rate(tickets)} a year. The false-page budget is ${status(pages.perYear, pages.high, perYear)}.`,
    table(
      [
        'Scenario',
        'Queries an hour',
        'Streams',
        'Sessions an hour',
        'Overdispersion',
        'False pages a year',
        'False tickets a year',
      ],
      quiet.map(quietRow),
    ),
    'The next tables show streams of the same scenarios for 14 days after a change. *Density* is the density of all traffic after the change. *Page* and *ticket* are the shares of streams in which a page or a ticket followed. The numbers of hours and queries are medians, counted from the change to the alert. *Cause* lists the causes that the first alert of each stream named, with the number of streams. *Topic named* counts streams in which most queries of the largest uncovered topic ask for the missing content.',
    ...[...new Set(changed.map(placeOf))].map((place) =>
      table(
        [
          place,
          'Density',
          'Page',
          'Hours to the page',
          'Queries to the page',
          'Ticket',
          'Hours to the ticket',
          'Cause',
          'Topic named',
        ],
        changed.filter((cell) => placeOf(cell) === place).map(changeRow),
      ),
    ),
    '**What to conclude**',
    [
      '- A content gap that affects 2 % of the traffic can cause uncovered topics and tickets, but rarely causes a page. With 30 queries an hour, recalld often detects a gap that affects 5 % of the traffic late or never.',
      '- A near topic can remain undetected if similar baseline queries are covered just as poorly, because density compares each query with them.',
      "- A moderate change in the mix of covered topics, which multiplies each topic's popularity by exp(0.5 z) with a standard normal z, almost never causes a page. A large change, with the factor exp(z), can cause a page.",
      '- If the embedding model changes, the embedding canary detects the change in the first hour, before any page.',
      '- In most alerts about a near topic, and in a third of the alerts about a far topic, the affected queries resemble known queries. In such cases, recalld reports a content gap with low confidence if no chunks are missing.',
    ].join('\n'),
    measuredBy(result.provenance),
  ];
}

/**
 * Goals for vectors of a neural encoder. `tickets`: maximum number of tickets a year. `calls`: share of comparisons
 * that report a change, by the percentage of the traffic that is uncovered.
 */
const DENSE_BARS = { tickets: 2, calls: { 0: 0.02, 10: 0.3, 20: 0.8 } } as const;

function denseParagraphs({ provenance, scores, quiet, changed }: DenseResult): string[] {
  const candidates = Object.keys(scores[0]?.auc ?? {});
  const pages = quiet.reduce((sum, { alerts }) => sum + alerts.page.count, 0);
  const worst = quiet.reduce((a, b) => (b.alerts.ticket.perYear > a.alerts.ticket.perYear ? b : a));
  const soon = Math.min(...changed.filter(isLarge).map(({ pagedInTwoDays }) => pagedInTwoDays.share));
  return [
    '## Dense vectors',
    'The scenarios in this section use the same queries about Wikipedia articles, but embed them with a neural sentence encoder (512 dimensions). In *repeated questions* scenarios, each query is repeated many times unchanged; in the other scenarios, each query has four wordings. The store lacks six of the articles. Six other articles are in the store, but no query asks about them before the simulated change. The popularity of articles is log-normal; the standard deviation of its logarithm is 0.8.',
    'The next table shows how well candidate scores separate covered from uncovered queries. Each cell contains the probability that a covered query scores higher than an uncovered query (0.5 is chance), averaged over the simulated stores. recalld uses the score *nearest minus half of the mean to the store* ([decision 13](../../decisions/0013-score-of-the-nearest-chunk.md)).',
    table(
      ['Scenario', 'Chunks', ...candidates],
      scores.map(({ world, chunks, auc }) => [
        world,
        `${chunks}`,
        ...candidates.map((name) => (auc[name] ?? Number.NaN).toFixed(2)),
      ]),
    ),
    `The simulated streams have ${quiet[0]?.queriesPerHour ?? 0} queries an hour for ${quiet[0]?.days ?? 0} days without any loss of content. The popularity of topics changes over two weeks (standard deviation of its logarithm 0.2, or 0.6 if *strong*), and topics have ten-day campaigns with four times the traffic. The goal for each scenario is no pages and at most ${DENSE_BARS.tickets} tickets a year. In these streams, ${pages} pages occurred. The highest number of tickets was ${worst.alerts.ticket.perYear.toFixed(1)} a year, in *${worst.world}* with *${worst.unrest}*. The goal for pages and tickets was ${met(pages === 0 && worst.alerts.ticket.perYear <= DENSE_BARS.tickets)}.`,
    table(
      ['Scenario', 'Variation', 'Streams', 'Overdispersion', 'False pages a year', 'False tickets a year'],
      quiet.map(({ world, unrest, streams, overdispersion, alerts }) => [
        world,
        unrest,
        `${streams}`,
        overdispersion.toFixed(2),
        `${alerts.page.count}: ${rate(alerts.page)}`,
        `${alerts.ticket.count}: ${rate(alerts.ticket)}`,
      ]),
    ),
    `The next table shows the dense scenarios with a change and weak variation. The goal is a page within two days in at least 80 % of the streams if a fifth of the traffic is uncovered. In the worse of the two scenarios, ${percent(soon)} of the streams had a page within two days, so the goal was ${met(soon >= DENSE_BARS.calls[20])}.`,
    table(
      [
        'Scenario',
        'Change',
        'Streams',
        'Density',
        'Page within 2 days',
        'Page within 14 days',
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
    '**Similarity cannot show a gap within a covered subject**, because queries about the gap are as near to existing chunks as covered queries are. Some of the missing articles are about covered subjects, so recalld does not always detect an uncovered fifth of the traffic. Only judgments show whether results answer a query ([density](../density.md#what-density-cannot-detect)).',
    '**Changes in popularity rarely cause false alerts**, because recalld compares each query with similar baseline queries ([decision 31](../../decisions/0031-the-daemon-matches-queries.md)). A topic that was never covered and becomes more popular appears only among the uncovered topics.',
    measuredBy(provenance),
  ];
}

/**
 * Goals for a strong encoder. `calls`: as above. `tenthWithinThreeDays`: share of streams with a page or a ticket
 * within three days if a tenth of the traffic is uncovered.
 */
const STRONG_BARS = { calls: { 0: 0.05, 10: 0.7, 20: 0.95 }, tenthWithinThreeDays: 0.8 } as const;

interface StrongResult {
  readonly dense: DenseResult;
  readonly looks: LookResult;
}

/** Describes the limits of query density on a store of research papers. */
function papersParagraph([, papers]: readonly StrongResult[]): string {
  if (papers === undefined) throw new Error('The results for the store of research papers are missing.');
  const { quiet } = papers.dense;
  const pages = quiet.reduce((sum, { alerts }) => sum + alerts.page.count, 0);
  const years = quiet.reduce((sum, { alerts }) => sum + alerts.page.years, 0);
  return `**Query density is less informative for a store with one subject.** In the store of research papers, a missing paper is hard to detect, and a new paper that the store contains can cause an alert. Changes in popularity caused ${pages} false pages in ${years.toFixed(1)} years. For a store with one subject, set the severity of \`density_drift\` to \`warning\`, and rely on golden runs and live relevance.`;
}

function strongParagraphs(results: readonly StrongResult[]): string[] {
  const looks = results.flatMap((result) => result.looks.looks);
  const changed = results.flatMap(({ dense }) => dense.changed);
  const quiet = results.flatMap(({ dense }) => dense.quiet);
  const scores = results.flatMap(({ dense }) => dense.scores);
  const [none = 1, tenth = 0, fifth = 0] = [0, 10, 20].map((share) => worstCall(looks, share));
  const areLooksMet = none <= STRONG_BARS.calls[0] && tenth >= STRONG_BARS.calls[10] && fifth >= STRONG_BARS.calls[20];
  const tenths = changed.filter(({ change }) => change.startsWith('uncovered') && change.includes('10 %'));
  const soon = Math.min(...tenths.map(({ alertedInThreeDays }) => alertedInThreeDays?.share ?? 0));
  const pages = quiet.reduce((sum, { alerts }) => sum + alerts.page.count, 0);
  return [
    '## A strong encoder',
    'The scenarios in this section use vectors of all-MiniLM-L6-v2 (384 dimensions, stored as one byte per dimension) for two corpora: the Wikipedia articles and their queries in English, Spanish and German; and 92 English research papers on viruses, cut into passages, with queries that annotators wrote ([COVID-QA](https://github.com/deepset-ai/COVID-QA)). The encoder was trained on English; the Spanish and German texts show what happens if an encoder does not fit the language. All papers are about one subject, so if the store lacks a paper, passages of other papers are still close to the queries about it.',
    `Comparisons with \`recalld drift\` use ${looks[0]?.reference ?? 0} baseline queries, ${looks[0]?.current ?? 0} current queries and alpha ${looks[0]?.alpha ?? 0}. The goal is that recalld reports a change in at most ${percent(STRONG_BARS.calls[0])} of the comparisons if nothing changed, in at least ${percent(STRONG_BARS.calls[10])} if a tenth of the traffic is uncovered, and in at least ${percent(STRONG_BARS.calls[20])} if a fifth is uncovered. In the worst scenarios, recalld reported a change in ${percent(none)} (nothing changed), ${percent(tenth)} (a tenth) and ${percent(fifth)} (a fifth) of the comparisons, so the goal was ${met(areLooksMet)}.`,
    lookTable(looks),
    results.map((result) => measuredBy(result.looks.provenance)).join('\n'),
    `For the daemon, the goal is a page or a ticket within three days in at least ${percent(STRONG_BARS.tenthWithinThreeDays)} of the streams if a tenth of the traffic is uncovered. In the worst scenario, an alert fired in ${percent(soon)} of the streams, so the goal was ${met(soon >= STRONG_BARS.tenthWithinThreeDays)}. In streams without a change, ${pages} false pages occurred.`,
    table(
      ['Scenario', 'Change', 'Streams', 'Density', 'Alert within 3 days', 'Page within 14 days', 'Hours to the page'],
      changed.map(({ world, change, streams, density, alertedInThreeDays, levels }) => [
        world,
        change,
        `${streams}`,
        density.toFixed(2),
        alertedInThreeDays === undefined ? '-' : shareBounded(alertedInThreeDays),
        percent(levels.page.found.share),
        hours(levels.page),
      ]),
    ),
    table(
      ['Scenario', 'Variation', 'Streams', 'False pages a year', 'False tickets a year'],
      quiet.map(({ world, unrest, streams, alerts }) => [
        world,
        unrest,
        `${streams}`,
        `${alerts.page.count}: ${rate(alerts.page)}`,
        `${alerts.ticket.count}: ${rate(alerts.ticket)}`,
      ]),
    ),
    papersParagraph(results),
    `How well recalld's score separates covered from uncovered queries depends on the texts. The probability that a covered query scores higher than an uncovered query (0.5 is chance) is ${scores.map(({ world, auc }) => `${(auc['nearest minus half of the mean to the store'] ?? Number.NaN).toFixed(2)} in *${world}*`).join(', ')}.`,
    results.map(({ dense }) => measuredBy(dense.provenance)).join('\n'),
  ];
}

function lookTable(looks: LookResult['looks']): string {
  return table(
    ['Scenario', 'Change', 'Comparisons', 'Density', 'Detected'],
    looks.map(({ world, change, draws, density, called: share }) => [
      world,
      change,
      `${draws}`,
      density.toFixed(2),
      shareBounded(share),
    ]),
  );
}

function lookParagraphs({ provenance, looks }: LookResult): string[] {
  const [none, tenth, fifth] = [0, 10, 20].map((share) => worstCall(looks, share));
  const isMet =
    (none ?? 1) <= DENSE_BARS.calls[0] && (tenth ?? 0) >= DENSE_BARS.calls[10] && (fifth ?? 0) >= DENSE_BARS.calls[20];
  const [first] = looks;
  return [
    `Each run of \`recalld drift\` compares ${first?.reference ?? 0} baseline queries with ${first?.current ?? 0} current queries at alpha ${first?.alpha ?? 0}; a different article is missing in each comparison. The goal is that recalld reports a change in at most ${percent(DENSE_BARS.calls[0])} of the comparisons if nothing changed, in at least ${percent(DENSE_BARS.calls[10])} if a tenth of the traffic is uncovered, and in at least ${percent(DENSE_BARS.calls[20])} if a fifth is uncovered. In the worse of the two scenarios, recalld reported a change in ${percent(none ?? Number.NaN)} (nothing changed), ${percent(tenth ?? Number.NaN)} (a tenth) and ${percent(fifth ?? Number.NaN)} (a fifth) of the comparisons, so the goal was ${met(isMet)}.`,
    lookTable(looks),
    measuredBy(provenance),
  ];
}

/**
 * Returns the share of comparisons that report a change, in the worst scenario in which `share` percent of the traffic
 * is uncovered.
 */
function worstCall(looks: LookResult['looks'], share: number): number {
  const name = share === 0 ? 'none' : `the store lacks, ${share} %`;
  const shares = looks.filter(({ change }) => change.endsWith(name)).map(({ called: { share: of } }) => of);
  return share === 0 ? Math.max(...shares) : Math.min(...shares);
}

function isLarge({ change }: DenseResult['changed'][number]): boolean {
  return change.startsWith('uncovered') && change.includes('20 %');
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
    .map(([cause, count]) => `${cause}: ${count}`);
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

function hours({ medianHours }: LevelDelays): string {
  return medianHours === null ? '-' : `${medianHours}`;
}
