/** How well the store covered what people asked, within a review. */

import type { Review, ReviewedMeasure } from '../../pipeline/golden-sets/read-review.ts';
import type { DensityEventKind } from '../../ports/density-states.ts';
import { measuredPoints } from '../charts/trend.ts';
import { TrendChart, type TrendLevel, type TrendMark } from '../charts/trend-chart.tsx';
import { Badge, type Tone } from '../components/badge.tsx';
import { Empty, Section } from '../components/section.tsx';
import { Table } from '../components/table.tsx';
import { Instant } from '../components/time.tsx';
import { shownMeasure } from '../measures.ts';

const charts: readonly { readonly measure: ReviewedMeasure; readonly level: TrendLevel }[] = [
  { measure: 'query_density', level: { value: 1, text: 'as in the reference', isAlarm: false } },
  { measure: 'query_uncovered_ratio', level: { value: 0.05, text: 'as in the reference', isAlarm: false } },
];

const kinds: Record<DensityEventKind, { readonly tone: Tone; readonly text: string }> = {
  page: { tone: 'critical', text: 'page' },
  ticket: { tone: 'warning', text: 'ticket' },
  resolve: { tone: 'ok', text: 'resolved' },
  reset: { tone: 'neutral', text: 'reset' },
  rebaseline: { tone: 'neutral', text: 'new reference' },
};

const MOST_EVENTS = 30;

interface DensityPartProps {
  readonly review: Review;
  readonly marks: readonly TrendMark[];
}

export function DensityPart({ review: { density, from, until }, marks }: DensityPartProps) {
  const { series, events, isWatched } = density;
  if (!isWatched && events.length === 0 && series.query_density.length === 0) {
    return (
      <Section id="density" title="Density drift">
        <Empty why="Query density is not watched on this pipeline, or has no reference yet: nothing says whether the store covers what people ask." />
      </Section>
    );
  }
  return (
    <Section
      id="density"
      title="Density drift"
      lead="How well the store covers live queries, against a reference of well-known traffic."
    >
      <div class="charts">
        {charts.map(({ measure, level }) => {
          const { title: name, show } = shownMeasure(measure);
          const points = measuredPoints(series[measure]);
          return (
            <TrendChart
              key={measure}
              id={`density-${measure}`}
              title={name}
              from={from}
              until={until}
              series={[{ name, points }]}
              marks={marks}
              levels={[level]}
              limits={[0, null]}
              show={show}
              empty="No window closed in this time."
            />
          );
        })}
      </div>
      {events.length === 0 ? (
        <p class="lead report-after">No alarm was raised or resolved in this time.</p>
      ) : (
        <Table
          caption="What the watch said, newest first"
          columns={[{ title: 'When (UTC)' }, { title: 'What' }, { title: 'In words' }]}
          rows={events.slice(0, MOST_EVENTS).map(({ id, occurredAt, kind, sentence }) => ({
            key: id,
            cells: [
              <Instant at={occurredAt} />,
              <Badge tone={kinds[kind].tone}>{kinds[kind].text}</Badge>,
              sentence,
            ],
          }))}
        />
      )}
    </Section>
  );
}
