/** Minimizes a smooth function within bounds; deterministic. */

export interface Bounds {
  readonly low: Float64Array;
  readonly high: Float64Array;
}

interface Point {
  readonly value: number;
  readonly gradient: Float64Array;
}

/** A step may increase the value, but not above the maximum of this many previous values. */
const MEMORY = 8;
const SUFFICIENT = 1e-4;
const TOLERANCE = 1e-4;
const [SHORTEST, LONGEST] = [1e-8, 1e4];
const HALVINGS = 40;

/**
 * Spectral projected gradient: Birgin, Martínez and Raydan, "Nonmonotone spectral projected gradient methods on convex
 * sets", SIAM Journal on Optimization 10 (2000), algorithm SPG2.
 */
export function descend(
  at: (x: Float64Array) => Point,
  start: Float64Array,
  { low, high }: Bounds,
  maxSteps: number,
): Float64Array {
  const project = (value: number, i: number): number => Math.max(low[i] as number, Math.min(high[i] as number, value));
  let x = start.map(project);
  let point = at(x);
  let [best, bestValue] = [x, point.value];
  const values = [point.value];
  let length = 1 / Math.max(1, ...point.gradient.map(Math.abs));
  for (let step = 0; step < maxSteps; step++) {
    const { gradient } = point;
    const direction = x.map((value, i) => project(value - length * (gradient[i] as number), i) - value);
    if (direction.every((value) => Math.abs(value) < TOLERANCE * Math.min(1, length))) break;
    const slope = dot(gradient, direction);
    const highest = Math.max(...values.slice(-MEMORY));
    let fraction = 1;
    let moved = x.map((value, i) => value + (direction[i] as number));
    let next = at(moved);
    for (let halving = 0; next.value > highest + SUFFICIENT * fraction * slope && halving < HALVINGS; halving++) {
      fraction /= 2;
      moved = x.map((value, i) => value + fraction * (direction[i] as number));
      next = at(moved);
    }
    const along = moved.map((value, i) => value - (x[i] as number));
    const curvature = dot(
      along,
      next.gradient.map((value, i) => value - (gradient[i] as number)),
    );
    length = curvature <= 0 ? LONGEST : Math.max(SHORTEST, Math.min(LONGEST, dot(along, along) / curvature));
    [x, point] = [moved, next];
    values.push(point.value);
    if (point.value < bestValue) [best, bestValue] = [x, point.value];
  }
  return best;
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}
