/** Numbers as the sentences of verdicts, alarms and diagnoses write them. */

/** A share as a percentage with one decimal, `12.5 %`. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** A number with its sign and so many decimals, `+0.012`. */
export function signed(value: number, decimals: number): string {
  return `${value >= 0 ? '+' : ''}${value.toFixed(decimals)}`;
}
