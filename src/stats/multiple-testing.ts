/** p-values adjusted for the number of tests, in the order in which they were given. */

/**
 * Holm's step-down adjustment (1979): the i-th smallest p times (m - i), never below an earlier one, at most 1.
 * Rejecting below alpha keeps the chance of any false rejection at most alpha, however the tests depend on each other.
 *
 * @param p p-values in [0, 1]
 */
export function holm(p: readonly number[]): number[] {
  const order = ascending(p);
  const adjusted = p.map(() => 1);
  let largest = 0;
  for (const [step, index] of order.entries()) {
    largest = Math.max(largest, (p[index] ?? 1) * (p.length - step));
    adjusted[index] = Math.min(1, largest);
  }
  return adjusted;
}

/**
 * Benjamini and Hochberg's step-up adjustment (1995): the smallest over j >= i of p_(j) m / j, at most 1. Rejecting
 * below q keeps the expected share of false rejections at most q for independent or positively dependent tests.
 *
 * @param p p-values in [0, 1]
 */
export function benjaminiHochberg(p: readonly number[]): number[] {
  const order = ascending(p);
  const adjusted = p.map(() => 1);
  let smallest = 1;
  for (let rank = p.length; rank >= 1; rank--) {
    const index = order[rank - 1] ?? 0;
    smallest = Math.min(smallest, ((p[index] ?? 1) * p.length) / rank);
    adjusted[index] = smallest;
  }
  return adjusted;
}

function ascending(p: readonly number[]): number[] {
  return p.map((_, index) => index).toSorted((a, b) => (p[a] ?? 0) - (p[b] ?? 0) || a - b);
}
