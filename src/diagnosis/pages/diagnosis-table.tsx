/** Alarms that are over, with what was likely behind them. */
import { Table } from '../../console/components/table.tsx';
import { Instant, Missing } from '../../console/components/values.tsx';
import { duration } from '../../console/format.ts';
import { runQueriesPath } from '../../console/links.ts';
import type { TimeRange } from '../../console/time-range.ts';
import { causeTexts, probabilityText } from '../rules/cause.ts';
import type { StoredDiagnosis } from '../rules/episode.ts';

interface DiagnosisTableProps {
  readonly caption: string;
  readonly diagnoses: readonly StoredDiagnosis[];
  readonly range: TimeRange;
}

export function DiagnosisTable({ caption, diagnoses, range }: DiagnosisTableProps) {
  return (
    <Table
      caption={caption}
      columns={[
        { title: 'From (UTC)' },
        { title: 'Lasted', isNumber: true },
        { title: 'Likely cause' },
        { title: 'In alarm' },
        { title: 'Run' },
      ]}
      rows={diagnoses.map(({ id, openedAt, closedAt, cause, confidence, probability, ...rest }) => ({
        key: id,
        cells: [
          <Instant at={openedAt} />,
          closedAt === null ? 'still' : duration((closedAt.getTime() - openedAt.getTime()) / 1000),
          <>
            {causeTexts[cause].title}
            <span class="severity">
              {confidence} confidence, {probabilityText(probability)}
            </span>
          </>,
          rest.alarms.join('; '),
          rest.runId === null ? (
            <Missing>none</Missing>
          ) : (
            <a href={runQueriesPath(range, rest.runId, 'regressed', rest.referenceRunId)}>{rest.runId}</a>
          ),
        ],
      }))}
    />
  );
}
