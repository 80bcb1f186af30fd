/** The pinned baseline of a golden set on the page of its run, and the form that pins another run. */

import { plural } from '../../../core/format.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { Table } from '../../../report/console/components.tsx';
import { runPath } from '../../../report/console/links.ts';
import type { GoldenBaseline } from '../../sql/golden-baselines.ts';

/** What the noise of the pinned run was learned from, and which runs it was not. */
export function PinnedNote({ baseline: { noise, leftOut } }: { readonly baseline: GoldenBaseline }) {
  const reruns = Object.values(noise[ALL_SEGMENT] ?? {})[0]?.reruns ?? null;
  return (
    <>
      <p class="lead">
        This run is the pinned baseline: later runs are compared with it.{' '}
        {reruns === null
          ? 'The noise of the retriever is unknown: fewer than three clean runs.'
          : `The noise of the retriever comes from ${reruns} clean runs.`}
      </p>
      {leftOut.length === 0 ? null : (
        <Table
          caption="Runs that the noise was not learned from"
          columns={[{ title: 'Run' }, { title: 'Reason' }]}
          rows={leftOut.map(({ runId, reason }) => ({
            key: runId,
            cells: [<a href={runPath(runId)}>{runId}</a>, reason],
          }))}
        />
      )}
    </>
  );
}

/** Makes a run the baseline that later ones are compared with. */
interface PinFormProps {
  readonly runId: string;
  readonly goldenSet: string;
  /** Queries of the run that failed or timed out. */
  readonly failed: number;
  readonly formToken: string;
  readonly back: string;
}

export function PinForm({ runId, goldenSet, failed, formToken, back }: PinFormProps) {
  return (
    <details class="act">
      <summary>Pin as baseline</summary>
      <form method="post" action="/actions/pin-baseline">
        <input type="hidden" name="form_token" value={formToken} />
        <input type="hidden" name="back" value={back} />
        <input type="hidden" name="run_id" value={runId} />
        <p>Later runs of {goldenSet} are compared with this one, in place of the baseline that is pinned now.</p>
        <label>
          Why (optional)
          <input type="text" name="note" maxLength={500} autocomplete="off" />
        </label>
        {failed === 0 ? null : (
          <label>
            <input type="checkbox" name="with_failures" value="yes" required />
            {plural(failed, 'query', 'queries')} of this run failed and would count 0 in the baseline. Pin it anyway.
          </label>
        )}
        <button type="submit">Pin this run</button>
      </form>
    </details>
  );
}
