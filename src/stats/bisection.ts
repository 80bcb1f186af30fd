/**
 * The least k in [from, to) that fulfils a condition which holds for all larger ones as well, in log(to - from) steps;
 * `to` when none does.
 */
export function firstWhere(from: number, to: number, holds: (k: number) => boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
