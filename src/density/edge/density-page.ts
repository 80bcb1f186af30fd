/** Console page *Density*: trend and distribution of query density, and uncovered topics. */
import { count, plural } from '../../core/format.ts';
import { diagnosisPanel } from '../../incidents/diagnosis/edge/pages/diagnosis.ts';
import { deploymentMark } from '../../live/deployments/edge/deployments-page.ts';
import type { readDensityPage } from '../../live/edge/pages/traffic-reads.ts';
import { gapWords, measureRow } from '../../measures/rules/measure-table.ts';
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
  lead,
  missing,
  section,
  table,
  time,
  value,
  verdictBadge,
} from '../../report/model/show.ts';
import type { DensityAnswer } from '../http-contract.ts';
import { complaintsSection, densityLevels, eventTable, topicsSection } from './sections.ts';

const phases: Record<DensityAnswer['phase'], { readonly tone: Tone; readonly text: string }> = {
  unwatched: { tone: 'no_data', text: 'not monitored' },
  learning: { tone: 'no_data', text: 'learning' },
  replaying: { tone: 'no_data', text: 'replaying' },
  watching: { tone: 'ok', text: 'monitoring' },
};

export function densityPage(data: Awaited<ReturnType<typeof readDensityPage>>): PageContent {
  const { density, trends, diagnosis, distributions, currentQueries, topics, showsText, deployments } = data;
  const { pipeline, phase, check, measures, outgrew_baseline: outgrown } = density;
  const marks = deployments.map(deploymentMark);
  return {
    title: 'Density',
    pipeline,
    section: 'density',
    aside: [badge(phases[phase].text, phases[phase].tone), check !== null && verdictBadge(check.verdict)],
    content: [
      section(
        'state',
        'Status',
        {
          lead: 'Query density measures how well the vector store covers live queries, compared with a baseline of known traffic.',
        },
        check !== null && check.verdict !== 'ok' && callout(check.explanation),
        outgrown && callout(outgrownText(pipeline)),
        state(density),
        diagnosis !== null &&
          check !== null &&
          diagnosis.alerts.includes(check.name) &&
          diagnosisPanel(diagnosis, 'brief'),
      ),
      section(
        'trend',
        'Trend',
        { lead: 'Bands are 95 % CIs; numbered lines are deployments.' },
        group(
          'charts',
          Object.entries(densityLevels).map(([measure, levels]) => {
            const gap = measures[measure]?.no_data ?? null;
            return measureChart(measure, trends.get(measure) ?? [], {
              marks,
              levels,
              limits: [0, null],
              empty:
                gap === null
                  ? 'No window closed in this period. Choose a longer one.'
                  : `No value: ${gapWords(gap.reason)}.`,
            });
          }),
          {
            kind: 'distribution',
            id: 'coverage',
            title:
              distributions === null
                ? 'Coverage of queries'
                : `Coverage of ${plural(currentQueries, 'measured query', 'measured queries')}: cosine of the nearest chunk`,
            distributions,
            empty: 'No live query was measured in this period, and there is no baseline yet.',
          },
        ),
      ),
      topicsSection(topics, showsText, phase === 'watching'),
      complaintsSection(data.complaints, showsText),
      section('events', 'Alerts and new baselines', {}, events(density)),
    ],
  };
}

/** The report of `recalld density show`: state, latest values and events. */
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
      ['Until (UTC)', ([, { latest }]) => latest !== null && time(new Date(latest.window_end))],
    ]),
    events(density),
  );
}

function outgrownText(pipeline: string): string {
  return `For two weeks coverage has been better than in the baseline. Losing this gain would go unnoticed. Make it the new baseline with \`recalld density rebaseline --pipeline ${pipeline}\`.`;
}

function events({ events: all }: DensityAnswer): Content {
  if (all.length === 0) return lead('None so far.');
  return eventTable(
    'Alerts and new baselines, newest first',
    all.map(({ occurred_at, ...event }) => ({ ...event, occurredAt: new Date(occurred_at) })),
  );
}

function state({ phase, baseline, progress, closed_until: closedUntil, incidents }: DensityAnswer): Content {
  if (phase === 'unwatched') {
    return empty(
      'The density of this pipeline is not monitored.',
      'Configure its `vector_store`, and its `embedder` unless live queries are sent with vectors. Then send live queries.',
    );
  }
  const shown = [
    baseline !== null &&
      fact('Baseline', `version ${baseline.version}`, [
        `${plural(baseline.sessions, 'session')} of ${Math.round(baseline.days)} days until `,
        time(new Date(baseline.until)),
        baseline.grade !== 'page' && '; provisional: too short for pages',
      ]),
    progress !== null &&
      fact(
        'Learning a baseline',
        `${count(progress.sessions)} of ${count(progress.needs.sessions)} sessions`,
        `on ${Math.floor(progress.days)} of ${progress.needs.days} days; comparisons start afterwards`,
      ),
    closedUntil !== null && fact('Latest window', age(new Date(closedUntil)), time(new Date(closedUntil))),
    ...Object.entries(incidents).map(([level, { opened_at }]) =>
      fact(`Alert (${level})`, badge('firing', level === 'page' ? 'critical' : 'warning'), time(new Date(opened_at))),
    ),
  ].filter((one) => one !== false);
  return shown.length === 0 ? lead('The first window has not closed yet.') : facts(...shown);
}
