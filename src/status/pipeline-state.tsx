/** How a pipeline stands: its state, and every reason why it is not well. */
import type { PipelineStatus } from './pipeline-status.ts';

export function Reasons({ status }: { readonly status: Pick<PipelineStatus, 'state' | 'reasons'> }) {
  const { state, reasons } = status;
  if (reasons.length === 0)
    return <p class="reason-none">Every check holds, and everything that must be fresh is.</p>;
  return (
    <ul class={`reasons ${state}`}>
      {reasons.map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
  );
}
