/** Text shared by the calibration pages. */
import type { Provenance } from '../../bench/result-file.ts';
import { code } from './page.ts';

export function measuredBy({ command, seed, date, machine, node, seconds }: Provenance): string {
  return `Measured on ${date} by ${code(command)} (seed ${seed}; ${machine}; Node.js ${node}; ${Math.ceil(seconds / 60)} min, on a machine that also did other work).`;
}

/** Returns a phrase that says whether a rate is within its budget. */
export function status(value: number, high: number, budget: number): string {
  if (value > budget) return '*missed*';
  return high <= budget ? '*met*, even at the upper bound' : '*met*, but not at the upper bound';
}

/** Returns whether a goal was met, as text for parentheses after the measured value. */
export function goal(isMet: boolean): string {
  return `goal *${isMet ? 'met' : 'missed'}*`;
}

/** Returns whether a goal was met. */
export function met(isMet: boolean): string {
  return `*${isMet ? 'met' : 'missed'}*`;
}

export function rate({
  perYear,
  low,
  high,
}: {
  readonly perYear: number;
  readonly low: number;
  readonly high: number;
}): string {
  return `${perYear.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
}

export function shareBounded({
  share,
  low,
  high,
}: {
  readonly share: number;
  readonly low: number;
  readonly high: number;
}): string {
  return `${percent(share)} (${percent(low)} to ${percent(high)})`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
