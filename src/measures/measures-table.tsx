/**
 * The latest of every measure of a pipeline, how it is written and in which order, with its age; what is too old or
 * came to nothing says so.
 */
import type { ComponentChildren } from 'preact';
import { Sparkline, type TrendPoint } from '../console/charts/trend-chart.tsx';
import { Age, Bounded, Missing, Table, type TableRow } from '../console/components.tsx';
import { compact, count, duration, score } from '../console/format.ts';
import { ALL_SEGMENT } from '../model.ts';
import type { GoldenSetStatus, MeasurementStatus } from '../status/pipeline-status.ts';
import { percent } from '../text/spelling.ts';
import type { MeasureScale } from './rules/measure-row.ts';
import { gapWords, measureRow, measureTable } from './rules/measure-table.ts';

interface ShownMeasure {
  readonly title: string;
  readonly show: (value: number) => string;
  /** One line for people who see it for the first time; empty for a measure that nobody wrote one for. */
  readonly note: string;
}

const shows: Record<MeasureScale, (value: number) => string> = {
  count,
  share: (value) => percent(value),
  score,
  seconds: duration,
  other: compact,
};

export function shownMeasure(measure: string): ShownMeasure {
  const { title, note, scale } = measureRow(measure);
  return { title, note, show: shows[scale] };
}

const order: readonly string[] = Object.keys(measureTable);

/** In the order of the words; what has no entry comes last. */
export function inReadingOrder<Measured extends { readonly measure: string }>(
  measured: readonly Measured[],
): Measured[] {
  const place = ({ measure }: Measured): number => {
    const found = order.indexOf(measure);
    return found < 0 ? order.length : found;
  };
  return measured.toSorted((a, b) => place(a) - place(b));
}

/** Whether it tells at a glance how a pipeline is; the rest stands on its own page. */
export function isGlanceMeasure(measure: string): boolean {
  return measureRow(measure).isGlance === true;
}

/** What golden runs are told by at a glance. */
const headlines = ['ndcg', 'hit_rate', 'mrr'] as const;

interface MeasuresTableProps {
  readonly caption: string;
  readonly golden: readonly GoldenSetStatus[];
  readonly measurements: readonly MeasurementStatus[];
  /** By golden set, of the first headline. */
  readonly trends: ReadonlyMap<string, readonly TrendPoint[]>;
}

export function MeasuresTable({ caption, golden, measurements, trends }: MeasuresTableProps) {
  const rows = [
    ...golden.flatMap((set) => goldenRows(set, trends.get(set.goldenSet) ?? [])),
    ...inReadingOrder(measurements.filter(({ segment }) => segment === ALL_SEGMENT)).map(measurementRow),
  ];
  return (
    <Table
      caption={caption}
      isCompact
      columns={[
        { title: 'Measure' },
        { title: 'Value, 95 % bounds', isNumber: true },
        { title: 'n', isNumber: true },
        { title: 'Measured', isNumber: true },
        { title: 'Trend', isMinor: true },
      ]}
      rows={rows}
    />
  );
}

function goldenRows({ goldenSet, completed }: GoldenSetStatus, trend: readonly TrendPoint[]): TableRow[] {
  const key = (measure: string) => `${goldenSet}/${measure}`;
  if (completed === null) {
    return [row(key('none'), `Golden set ${goldenSet}`, <Missing>no run has completed</Missing>, '', '', null)];
  }
  const { scores, ageSeconds, isTooOld } = completed;
  const all = scores.filter(({ segment }) => segment === ALL_SEGMENT);
  const k = Math.max(...all.map((one) => one.k));
  return headlines.flatMap((measure, index) => {
    const found = all.find((one) => one.measure === measure && one.k === k);
    if (found === undefined) return [];
    const value = isTooOld ? (
      <Missing>withheld</Missing>
    ) : (
      <Bounded value={found.mean} low={found.ciLow} high={found.ciHigh} />
    );
    const name = (
      <>
        {measure}@{k} <span class="of">{goldenSet}</span>
      </>
    );
    const age = <Age seconds={ageSeconds} isTooOld={isTooOld} />;
    return [row(key(measure), name, value, count(found.n), age, index === 0 ? <Sparkline points={trend} /> : null)];
  });
}

function measurementRow({ measure, newest, gap, isTooOld }: MeasurementStatus): TableRow {
  const { title: name, show, note } = shownMeasure(measure);
  const last = gap ?? newest;
  const shown = gap === null && !isTooOld ? newest : null;
  const value =
    shown === null ? (
      <Missing>{gap === null ? 'withheld' : `none: ${gapWords(gap.reason)}`}</Missing>
    ) : (
      <Bounded value={shown.value} low={shown.ciLow} high={shown.ciHigh} show={show} />
    );
  const age = last === null ? '' : <Age seconds={last.ageSeconds} isTooOld={isTooOld} />;
  const title = note === '' ? name : <span title={note}>{name}</span>;
  return row(measure, title, value, shown === null ? '' : count(shown.n), age, null);
}

function row(
  key: string,
  name: ComponentChildren,
  value: ComponentChildren,
  n: ComponentChildren,
  age: ComponentChildren,
  trend: ComponentChildren,
): TableRow {
  return { key, cells: [name, value, n, age, trend] };
}
