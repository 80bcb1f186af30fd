/** Reference implementation of the statements that close minutes. */

import type { MinuteLoad, SamplingDecision } from '../../src/live/rules/sampling/decision.ts';

/**
 * Returns the final sampling level of a minute: the highest level that any replica reported, or 0 if none reported one.
 */
export function closingLevel(reports: readonly MinuteLoad[]): number {
  return reports.reduce((highest, report) => Math.max(highest, report.level), 0);
}

/**
 * Returns a sample as it is stored after its minute has closed: with the decision that would have been made immediately
 * at the closing level. A sample that a rule selected remains stored, and keeps its probability.
 *
 * @param level sampling level at which the sample was taken
 * @param closing final level of the minute, from `closingLevel`; never below `level`
 */
export function closeSample(sample: SamplingDecision, level: number, closing: number): SamplingDecision {
  // Factors of two are exact, so closing in two steps gives exactly the same numbers as closing in one.
  const factor = 2 ** (level - closing);
  const rateProbability = sample.rateProbability * factor;
  if (sample.reason !== 'rate') return { ...sample, rateProbability };
  const isSampled = sample.hash < rateProbability;
  const probability = sample.probability * factor;
  return { ...sample, isSampled, probability, reason: isSampled ? 'rate' : 'not_sampled', rateProbability };
}
