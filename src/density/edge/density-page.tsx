/** How well the store covers what people ask: the trend, the distributions, what is not covered. */

import { count, minute, plural } from '../../core/format.ts';
import { DiagnosisPanel } from '../../incidents/diagnosis/edge/pages/diagnosis.tsx';
import type { Incident } from '../../incidents/diagnosis/rules/incident.ts';
import { deploymentMark } from '../../live/deployments/edge/deployments-page.tsx';
import type { Deployment } from '../../live/deployments/rules/deployment.ts';
import { gapWords } from '../../measures/rules/measure-table.ts';
import { shownMeasure } from '../../measures/shown-measures.ts';
import { DistributionChart, type Distributions } from '../../report/console/charts/distribution-chart.tsx';
import { TrendChart, type TrendLevel, type TrendPoint } from '../../report/console/charts/trend-chart.tsx';
import {
  Age,
  agoOf,
  Badge,
  Empty,
  type Fact,
  Facts,
  Instant,
  Section,
  Sentence,
  Table,
  type Tone,
  VerdictBadge,
} from '../../report/console/components.tsx';
import { type Frame, Page } from '../../report/console/page.tsx';
import type { ReviewedTopic } from '../../report/status/read-review.ts';
import type { DensityAnswer } from '../http-contract.ts';
import type { ComplaintsReport } from './complaints-reads.ts';
import { ComplaintsSection, Topics } from './sections.tsx';

export interface DensityPageData {
  /** Without its series, which are the trends. */
  readonly density: DensityAnswer;
  /** By measure, oldest first, of those that have a chart. */
  readonly trends: ReadonlyMap<string, readonly TrendPoint[]>;
  /** Of the pipeline, at the end of the range; null while nothing was in alarm. */
  readonly diagnosis: Incident | null;
  /** Of live queries within the range against the reference; null while neither has a query. */
  readonly distributions: Distributions | null;
  readonly currentQueries: number;
  readonly topics: readonly ReviewedTopic[];
  /** Null: nobody looked. */
  readonly complaints: ComplaintsReport | null;
  readonly showsText: boolean;
  /** Oldest first. */
  readonly deployments: readonly Deployment[];
}

export const charted: readonly { readonly measure: string; readonly levels: readonly TrendLevel[] }[] = [
  { measure: 'query_density', levels: [{ value: 1, text: 'as in the reference', isAlarm: false }] },
  {
    measure: 'query_uncovered_ratio',
    levels: [{ value: 0.05, text: 'as in the reference', isAlarm: false }],
  },
  { measure: 'density_page_evidence_ratio', levels: [{ value: 1, text: 'pages somebody', isAlarm: true }] },
];

const phases: Record<DensityAnswer['phase'], { readonly tone: Tone; readonly text: string }> = {
  unwatched: { tone: 'no_data', text: 'not watched' },
  learning: { tone: 'no_data', text: 'learning' },
  replaying: { tone: 'no_data', text: 'measuring anew' },
  watching: { tone: 'ok', text: 'watching' },
};

export function DensityPage({ frame, data }: { readonly frame: Frame; readonly data: DensityPageData }) {
  const { density, trends, diagnosis, distributions, currentQueries, topics, showsText, deployments } = data;
  const { range, now } = frame;
  const { tone, text } = phases[density.phase];
  const marks = deployments.map(deploymentMark);
  return (
    <Page
      frame={frame}
      title="Density"
      pipeline={density.pipeline}
      section="density"
      aside={
        <>
          <Badge tone={tone}>{text}</Badge>
          {density.check === null ? null : <VerdictBadge verdict={density.check.verdict} />}
        </>
      }
    >
      <Section
        id="state"
        title="Where the watch stands"
        lead="Query density says how well the vector store covers live queries, against a reference of well-known traffic."
      >
        {density.check === null || density.check.verdict === 'ok' ? null : (
          <p class="alarm" role="note">
            <Sentence>{density.check.explanation ?? ''}</Sentence>
          </p>
        )}
        <State density={density} now={now} />
        {diagnosis === null || density.check === null || !diagnosis.alarms.includes(density.check.name) ? null : (
          <DiagnosisPanel diagnosis={diagnosis} range={range} isBrief />
        )}
      </Section>
      <Section id="trend" title="Trend" lead="Bands are 95 % bounds; numbered lines are deployments.">
        <div class="charts">
          {charted.map(({ measure, levels }) => {
            const found = density.measures[measure];
            const { title: name, show } = shownMeasure(measure);
            return (
              <TrendChart
                key={measure}
                id={`trend-${measure}`}
                title={name}
                from={range.from}
                until={range.until}
                series={[{ name, points: trends.get(measure) ?? [] }]}
                marks={marks}
                levels={levels}
                limits={[0, null]}
                show={show}
                empty={
                  found?.no_data === undefined || found.no_data === null
                    ? 'No window closed in this time. Choose a longer one.'
                    : `No value: ${gapWords(found.no_data.reason)}.`
                }
              />
            );
          })}
          {distributions === null ? (
            <figure class="chart">
              <figcaption>Coverage of queries</figcaption>
              <p class="chart-empty">No live query was measured in this time, and there is no reference yet.</p>
            </figure>
          ) : (
            <DistributionChart
              id="coverage"
              title={`Coverage of ${plural(currentQueries, 'measured query', 'measured queries')}: cosine of the nearest chunk`}
              distributions={distributions}
            />
          )}
        </div>
      </Section>
      <Topics topics={topics} showsText={showsText} now={now} isWatched={density.phase === 'watching'} />
      <ComplaintsSection frame={frame} report={data.complaints} showsText={showsText} />
      <Events density={density} />
    </Page>
  );
}

function State({ density, now }: { readonly density: DensityAnswer; readonly now: Date }) {
  const { phase, baseline, progress, closed_until: closedUntil } = density;
  if (phase === 'unwatched') {
    return (
      <Empty
        why="The density of this pipeline is not watched."
        todo={
          <>
            Name its <code>vector_store</code> in the config, and its <code>embedder</code> unless live queries come
            with their vectors; then send live queries.
          </>
        }
      />
    );
  }
  const facts: Fact[] = [
    ...(baseline === null
      ? []
      : [
          {
            name: 'Reference',
            value: `version ${baseline.version}`,
            detail: `${plural(baseline.sessions, 'session')} of ${Math.round(baseline.days)} days until ${minute(new Date(baseline.until))}${baseline.grade === 'page' ? '' : '; provisional: too short for pages'}`,
          },
        ]),
    ...(progress === null
      ? []
      : [
          {
            name: 'Learning a reference',
            value: `${count(progress.sessions)} of ${count(progress.needs.sessions)} sessions`,
            detail: `on ${Math.floor(progress.days)} of ${progress.needs.days} days; until then nothing is compared`,
          },
        ]),
    ...(closedUntil === null
      ? []
      : [
          {
            name: 'Latest window',
            value: <Age seconds={agoOf(new Date(closedUntil), now)} />,
            detail: <Instant at={new Date(closedUntil)} />,
          },
        ]),
    ...Object.entries(density.incidents).map(([level, { opened_at }]) => ({
      name: `Alarm (${level})`,
      value: <Badge tone={level === 'page' ? 'critical' : 'warning'}>open</Badge>,
      detail: <Instant at={new Date(opened_at)} />,
    })),
  ];
  return facts.length === 0 ? <p class="lead">The first window has not closed yet.</p> : <Facts facts={facts} />;
}

const eventTones: Record<DensityAnswer['events'][number]['kind'], Tone> = {
  page: 'critical',
  ticket: 'warning',
  resolve: 'ok',
  reset: 'neutral',
  rebaseline: 'neutral',
};

function Events({ density: { events } }: { readonly density: DensityAnswer }) {
  return (
    <Section id="events" title="Alarms and new references">
      {events.length === 0 ? (
        <p class="lead">None so far.</p>
      ) : (
        <Table
          caption="Alarms and new references, newest first"
          columns={[{ title: 'When (UTC)' }, { title: 'What' }, { title: 'Why' }]}
          rows={events.map(({ id, kind, occurred_at, sentence }) => ({
            key: id,
            cells: [
              <Instant at={new Date(occurred_at)} />,
              <Badge tone={eventTones[kind]}>{kind}</Badge>,
              <span class="why">
                <Sentence>{sentence}</Sentence>
              </span>,
            ],
          }))}
        />
      )}
    </Section>
  );
}
