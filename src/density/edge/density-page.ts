import { count, plural } from '../../core/format.ts';
import { diagnosisPanel } from '../../incidents/diagnosis/edge/pages/diagnosis.ts';
import { deploymentMark } from '../../live/deployments/edge/deployments-page.ts';
import type { readDensityPage } from '../../live/edge/pages/traffic-reads.ts';
import { gapWords, measureRow } from '../../measures/rules/measure-table.ts';
import type { TrendChart } from '../../report/model/charts.ts';
import type { Content, PageContent, Tone } from '../../report/model/content.ts';
import { measureChart } from '../../report/model/measures.ts';
import {
  age,
  badge,
  callout,
  empty,
  fact,
  facts,
  group,
  heading,
  lead,
  missing,
  more,
  section,
  strong,
  styledParagraph,
  table,
  time,
  value,
  verdictBadge,
} from '../../report/model/show.ts';
import type { DensityAnswer } from '../http-contract.ts';
import { coverageTitle } from '../rules/query-density.ts';
import { complaintsSection, densityLevels, eventTable, topicsSection } from './sections.ts';

const phases: Record<DensityAnswer['phase'], { readonly tone: Tone; readonly text: string }> = {
  unwatched: { tone: 'no_data', text: 'not monitored' },
  learning: { tone: 'no_data', text: 'learning' },
  replaying: { tone: 'no_data', text: 'replaying' },
  watching: { tone: 'ok', text: 'monitoring' },
};

export function densityPage(data: Awaited<ReturnType<typeof readDensityPage>>): PageContent {
  const { density, diagnosis, topics, showsText } = data;
  const { pipeline, phase, check, outgrew_baseline: outgrown } = density;
  const isDiagnosed = diagnosis !== null && check !== null && diagnosis.alerts.includes(check.name);
  return {
    title: titleOf(density) ?? 'Density',
    pipeline,
    section: 'density',
    aside: driftBadge(density),
    content: [
      outgrown && callout(outgrownText(pipeline)),
      group(
        'sides',
        section(
          'state',
          'Status',
          {
            lead: 'A query is poorly covered if its nearest chunks are farther away than those of 95 % of the baseline queries.',
          },
          group('stack', driftSentence(density), state(density), isDiagnosed && diagnosisPanel(diagnosis, 'brief')),
        ),
        section('trend', 'Trend', {}, coverageChart('query_uncovered_ratio', data)),
      ),
      topicsSection(topics, showsText, phase === 'watching'),
      complaintsSection(data.complaints, showsText),
      section('details', 'Details', {}, more('Density, alert statistic, similarity and events', details(data))),
    ],
  };
}

type DensityPageData = Awaited<ReturnType<typeof readDensityPage>>;

function titleOf({ measures }: DensityAnswer): string | null {
  const { latest = null, no_data: gap = null } = measures['query_uncovered_ratio'] ?? {};
  if (latest === null || gap !== null) return null;
  return coverageTitle(latest.value);
}

/** Start of the earliest open density incident; null if there is none. */
function driftSince({ incidents }: DensityAnswer): Date | null {
  const [first] = Object.values(incidents)
    .map(({ opened_at: at }) => new Date(at))
    .toSorted((a, b) => a.getTime() - b.getTime());
  return first ?? null;
}

function driftBadge(density: DensityAnswer): Content {
  if (density.phase !== 'watching') return badge(phases[density.phase].text, phases[density.phase].tone);
  if (driftSince(density) === null) return badge('drift not confirmed', 'ok');
  return badge('drift confirmed', density.incidents['page'] === undefined ? 'warning' : 'critical');
}

function driftSentence(density: DensityAnswer): Content {
  if (density.phase !== 'watching') return null;
  const since = driftSince(density);
  return styledParagraph(
    'cause',
    since === null ? 'Drift not confirmed.' : [strong('Drift confirmed'), ' at ', time(since), ' (', age(since), ').'],
  );
}

function coverageChart(
  measure: string,
  { density, trends, deployments }: DensityPageData,
  rest: Partial<TrendChart> = {},
): TrendChart {
  const gap = density.measures[measure]?.no_data ?? null;
  return measureChart(measure, trends.get(measure) ?? [], {
    marks: deployments.map(deploymentMark),
    levels: densityLevels[measure] ?? [],
    limits: [0, null],
    empty:
      gap === null
        ? 'No window of live queries ended in this period. Choose a longer period.'
        : `No value: ${gapWords(gap.reason)}.`,
    ...rest,
  });
}

function details(data: DensityPageData): Content {
  const { density, distributions, currentQueries } = data;
  return [
    group(
      'charts',
      coverageChart('query_density', data),
      coverageChart('density_page_evidence_ratio', data, { isLog: true, limits: [null, null] }),
      {
        kind: 'distribution',
        id: 'coverage',
        title:
          distributions === null
            ? 'Similarity of queries to their nearest chunk'
            : `Similarity of ${plural(currentQueries, 'measured query', 'measured queries')} to the nearest chunk (cosine)`,
        distributions,
        empty: 'No live query was measured in this period, and there is no baseline yet.',
      },
    ),
    heading(3, 'Alerts and new baselines'),
    events(density),
  ];
}

export function densityContent(density: DensityAnswer): Content {
  const { pipeline, phase, check, outgrew_baseline: outgrown, measures } = density;
  return section(
    'density',
    `Query density of ${pipeline}`,
    {
      aside: [badge(phases[phase].text, phases[phase].tone), ' ', check !== null && verdictBadge(check.verdict)],
      lead: check?.explanation,
    },
    outgrown && callout(outgrownText(pipeline)),
    driftSentence(density),
    state(density),
    table('Measures of density', Object.entries(measures), [
      ['Measure', ([measure]) => measureRow(measure).title],
      [
        'Value (95 % CI)',
        ([measure, { latest, no_data: gap }]) =>
          gap !== null
            ? missing(`none: ${gapWords(gap.reason)}`)
            : latest !== null && value(latest.value, measureRow(measure).scale, latest.ci_low, latest.ci_high),
        'number',
      ],
      ['Sessions', ([, { latest, no_data: gap }]) => gap === null && latest?.sessions, 'number'],
      ['Window end (UTC)', ([, { latest }]) => latest !== null && time(new Date(latest.window_end))],
    ]),
    events(density),
  );
}

function outgrownText(pipeline: string): string {
  return `For two weeks, coverage has been better than in the baseline. If coverage drops back to the baseline level, comparisons with this baseline will not show the drop. Create a new baseline with \`recalld density rebaseline --pipeline ${pipeline}\`.`;
}

function events({ events: all }: DensityAnswer): Content {
  if (all.length === 0) return lead('None so far.');
  return eventTable(
    'Density alerts and new baselines, newest first',
    all.map(({ occurred_at, ...event }) => ({ ...event, occurredAt: new Date(occurred_at) })),
  );
}

function state({ phase, baseline, progress, closed_until: closedUntil }: DensityAnswer): Content {
  if (phase === 'unwatched') {
    return empty(
      'Query density is not monitored for this pipeline.',
      'Configure `vector_store` for this pipeline and, unless live queries include vectors, also `embedder`. Then send live queries.',
    );
  }
  const shown = [
    baseline !== null &&
      fact('Baseline', `version ${baseline.version}`, [
        `${plural(baseline.sessions, 'session')} in ${plural(Math.round(baseline.days), 'day')}, until `,
        time(new Date(baseline.until)),
        baseline.grade !== 'page' && '; provisional: alerts do not page, because there is too little traffic',
      ]),
    progress !== null &&
      fact(
        'Learning a baseline',
        `${count(progress.sessions)} of ${count(progress.needs.sessions)} sessions`,
        `on ${Math.floor(progress.days)} of ${progress.needs.days} days; comparisons start once both numbers are reached`,
      ),
    closedUntil !== null && fact('Latest window', age(new Date(closedUntil)), time(new Date(closedUntil))),
  ].filter((one) => one !== false);
  return shown.length === 0 ? lead('The first window of live queries has not ended yet.') : facts(...shown);
}
