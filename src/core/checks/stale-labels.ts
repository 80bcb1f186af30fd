/** The check that the judged documents of a golden set are still in the store. */
import type { LabelProbe } from '../golden/label-probe.ts';
import type { Severity } from '../model.ts';
import { type CheckResult, decimals } from './result.ts';

export interface StaleLabelsCheck {
  /** Largest share of the judged documents that may be gone, 0..1. */
  readonly above: number;
  readonly severity: Severity;
}

/** How many judged documents were looked for and how many are gone, or why nobody could look. */
export type LabelCounts =
  | Pick<Extract<LabelProbe, { readonly kind: 'probed' }>, 'kind' | 'probed' | 'stale'>
  | Extract<LabelProbe, { readonly kind: 'unknown' }>;

export function staleLabelsCheckName(check: StaleLabelsCheck, goldenSet: string): string {
  return `stale labels above ${check.above} on ${goldenSet}`;
}

/** Judges the share of judged documents that are gone. Without a look at the store the verdict is `no_data`. */
export function judgeStaleLabels(
  check: StaleLabelsCheck,
  goldenSet: string,
  probe: LabelCounts,
): CheckResult {
  const base = {
    name: staleLabelsCheckName(check, goldenSet),
    severity: check.severity,
    threshold: check.above,
  };
  if (probe.kind === 'unknown')
    return { ...base, verdict: 'no_data', value: null, explanation: probe.reason };
  const ratio = probe.probed === 0 ? 0 : probe.stale / probe.probed;
  const counts = `${probe.stale} of ${probe.probed} judged documents (${decimals(ratio)}) are gone from the store`;
  if (ratio <= check.above) {
    return {
      ...base,
      verdict: 'ok',
      value: ratio,
      explanation: `${counts}, not above ${decimals(check.above)}.`,
    };
  }
  return {
    ...base,
    verdict: check.severity,
    value: ratio,
    explanation: `${counts}, above ${decimals(check.above)}: mend the labels of ${goldenSet} before you trust a fall of its scores.`,
  };
}
