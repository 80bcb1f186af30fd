/** Numbers as the sentences of verdicts, alarms and diagnoses write them. */

/** A share as a percentage, `12.5 %`. */
export function percent(share: number, decimals = 1): string {
  return `${(100 * share).toFixed(decimals)} %`;
}

/** A number with its sign and so many decimals, `+0.012`. */
export function signed(value: number, decimals: number): string {
  return `${value >= 0 ? '+' : ''}${value.toFixed(decimals)}`;
}
