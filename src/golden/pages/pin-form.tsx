/** Makes a run the baseline that later ones are compared with. */

interface PinFormProps {
  readonly runId: string;
  readonly goldenSet: string;
  readonly formToken: string;
  readonly back: string;
}

export function PinForm({ runId, goldenSet, formToken, back }: PinFormProps) {
  return (
    <details class="act">
      <summary>Pin as baseline</summary>
      <form method="post" action="/actions/pin-baseline">
        <input type="hidden" name="form_token" value={formToken} />
        <input type="hidden" name="back" value={back} />
        <input type="hidden" name="run_id" value={runId} />
        <p>
          Later runs of {goldenSet} are compared with this one, in place of the baseline that is pinned now.
        </p>
        <label>
          Why (optional)
          <input type="text" name="note" maxLength={500} autocomplete="off" />
        </label>
        <button type="submit">Pin this run</button>
      </form>
    </details>
  );
}
