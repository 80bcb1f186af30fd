/** Configured checks with the sentence of their verdict, and since when they stand at it. */
import type { CheckState } from '../../pipeline/checks/check-states.ts';
import type { StoredStanding } from '../../ports/check-history.ts';
import { score } from '../format.ts';
import { checkHistoryPath, pipelinePath, within } from '../links.ts';
import type { TimeRange } from '../time-range.ts';
import { VerdictBadge } from './badge.tsx';
import { Table } from './table.tsx';
import { Age, agoOf, Lasting } from './time.tsx';
import { Missing } from './value.tsx';

interface CheckTableProps {
  readonly caption: string;
  readonly checks: readonly CheckState[];
  /** As the history of checks has them. */
  readonly standings: readonly StoredStanding[];
  readonly range: TimeRange;
  readonly now: Date;
  readonly withPipeline: boolean;
}

export function CheckTable({ caption, checks, standings, range, now, withPipeline }: CheckTableProps) {
  return (
    <Table
      caption={caption}
      columns={[
        { title: 'Check' },
        { title: 'Verdict' },
        { title: 'Since (UTC)' },
        { title: 'Value', isNumber: true },
        { title: 'Threshold', isNumber: true, isMinor: true },
        { title: 'Judged', isNumber: true, isMinor: true },
      ]}
      rows={checks.map((check) => ({
        key: `${check.pipeline} ${check.goldenSet} ${check.name} ${check.severity}`,
        cells: [
          <>
            <a href={checkHistoryPath(range, check.pipeline, check.name)}>{check.name}</a>
            {withPipeline ? (
              <>
                {' '}
                <a class="of" href={within(range, pipelinePath(check.pipeline))}>
                  {check.pipeline}
                </a>
              </>
            ) : null}
            <span class="why">{whyOf(check)}</span>
          </>,
          <>
            <VerdictBadge verdict={check.verdict} />
            {check.verdict === 'ok' ? null : <span class="severity"> {check.severity} check</span>}
          </>,
          <Since check={check} standings={standings} now={now} />,
          check.isTooOld || check.judged === null || check.judged.value === null ? (
            <Missing>{check.isTooOld ? 'withheld' : 'none'}</Missing>
          ) : (
            score(check.judged.value)
          ),
          score(check.threshold),
          check.evaluatedAt === null ? (
            <Missing>never</Missing>
          ) : (
            <Age seconds={agoOf(check.evaluatedAt, now)} isTooOld={check.isTooOld} />
          ),
        ],
      }))}
    />
  );
}

function Since({
  check,
  standings,
  now,
}: Pick<CheckTableProps, 'standings' | 'now'> & { check: CheckState }) {
  const found = standings.find(({ pipeline, name }) => pipeline === check.pipeline && name === check.name);
  if (found === undefined) return <Missing>not noted</Missing>;
  // Changes are noted once a minute.
  if (found.verdict !== check.verdict) return <Missing>just now</Missing>;
  return <Lasting from={found.since} seconds={agoOf(found.since, now)} />;
}

function whyOf({ judged, isTooOld, evaluatedAt, goldenSet }: CheckState): string {
  if (evaluatedAt === null) {
    return goldenSet === null
      ? 'Nothing has judged it yet; checks are judged once a minute.'
      : `No golden run of ${goldenSet} has ended yet, so nothing has judged it.`;
  }
  if (isTooOld) {
    const last = goldenSet === null ? 'What' : 'The run that';
    return `${last} judged it last is too old to trust${judged === null ? '.' : `; it said: ${judged.explanation}`}`;
  }
  return judged?.explanation ?? 'The latest run did not judge it: it was configured after that run.';
}
