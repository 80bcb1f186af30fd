/** Configured checks with the sentence of their verdict, and since when they stand at it. */

import { score } from '../../core/format.ts';
import { Age, agoOf, Lasting, Missing, Sentence, Table, VerdictBadge } from '../../report/console/components.tsx';
import { checkHistoryPath, pipelinePath, type TimeRange, within } from '../../report/console/links.ts';
import type { CheckState } from '../rules/check-state.ts';
import { isBlind } from '../rules/regression.ts';

interface CheckTableProps {
  readonly caption: string;
  readonly checks: readonly CheckState[];
  readonly range: TimeRange;
  readonly now: Date;
  readonly withPipeline: boolean;
}

export function CheckTable({ caption, checks, range, now, withPipeline }: CheckTableProps) {
  return (
    <Table
      caption={caption}
      columns={[
        { title: 'Check' },
        { title: 'Verdict' },
        { title: 'Since (UTC)' },
        { title: 'Value', isNumber: true },
        { title: 'Threshold', isNumber: true },
        { title: 'Judged', isNumber: true },
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
            <span class="why">
              <Sentence>{whyOf(check)}</Sentence>
            </span>
          </>,
          <>
            <VerdictBadge verdict={check.verdict} isBlind={isBlind(check)} />
            {check.verdict === 'ok' ? null : <span class="severity"> {check.severity} check</span>}
          </>,
          check.since === null ? (
            <Missing>not noted</Missing>
          ) : (
            <Lasting from={check.since} seconds={agoOf(check.since, now)} />
          ),
          check.value === null ? (
            <Missing>{check.isTooOld ? 'withheld' : 'none'}</Missing>
          ) : (
            <>
              {score(check.value)}
              {check.kind === 'density_drift' ? <span class="severity">of the evidence it takes</span> : null}
            </>
          ),
          score(check.threshold),
          check.judgedAt === null ? (
            <Missing>never</Missing>
          ) : (
            <Age seconds={agoOf(check.judgedAt, now)} isTooOld={check.isTooOld} />
          ),
        ],
      }))}
    />
  );
}

function whyOf({ explanation, isTooOld, judgedAt, goldenSet }: CheckState): string {
  if (judgedAt === null) {
    return goldenSet === null
      ? 'Nothing has judged it yet; checks are judged once a minute.'
      : `No golden run of ${goldenSet} has ended yet, so nothing has judged it.`;
  }
  if (isTooOld) {
    const last = goldenSet === null ? 'What' : 'The run that';
    return `${last} judged it last is too old to trust${explanation === null ? '.' : `; it said: ${explanation}`}`;
  }
  return explanation ?? 'The latest run did not judge it: it was configured after that run.';
}
