import type { Interval } from './interval.ts';
import { normalQuantile } from './normal.ts';

/**
 * Bounds of a share at another confidence than they were computed at, exactly for Wilson's interval.
 *
 * Wilson's interval reaches the same way up and down on the logit scale, by h = 2 asinh(z / (2 sqrt(n p (1 - p))))
 * (Newcombe 1998), so that h at one z gives h at another without n. At a share of 0 or 1, where it reaches only one
 * way, n follows from the bound itself: it is z^2 / (n + z^2) away.
 *
 * @param share in [0, 1]
 * @param bounds of the share, at `confidence`
 * @param wanted the confidence of the result, in (0, 1)
 */
export function rescaledInterval(
  share: number,
  { low, high }: Interval,
  confidence: number,
  wanted: number,
): Interval {
  const z = normalQuantile((1 + confidence) / 2);
  const other = normalQuantile((1 + wanted) / 2);
  if (share <= 0) return { low, high: reachFromEnd(high, z, other) };
  if (share >= 1) return { low: 1 - reachFromEnd(1 - low, z, other), high };
  return {
    low: moved(share, low, z, other, 0),
    high: moved(share, high, z, other, 1),
  };
}

function reachFromEnd(reach: number, z: number, other: number): number {
  if (reach <= 0 || reach >= 1) return reach;
  const n = (z * z * (1 - reach)) / reach;
  return (other * other) / (n + other * other);
}

/** A bound at an end of the range stays there. */
function moved(share: number, bound: number, z: number, other: number, end: 0 | 1): number {
  if (bound <= 0 || bound >= 1) return end;
  const reach = logit(bound) - logit(share);
  return 1 / (1 + Math.exp(-(logit(share) + 2 * Math.asinh((other / z) * Math.sinh(reach / 2)))));
}

function logit(share: number): number {
  return Math.log(share) - Math.log1p(-share);
}
