/** With what probability the service's own tracing kept a span: every estimate over sampled spans needs it. */
import { readNumber } from './attribute.ts';
import type { OtlpSpan } from './span.ts';

/** Thresholds have 56 bits: 14 hexadecimal digits, of which trailing zeros may be left out. */
const THRESHOLD_DIGITS = 14;
const MAX_ADJUSTED_COUNT = 2 ** 56;

/**
 * The probability with which a span was kept, in (0, 1], by the first of:
 *
 * - the rejection threshold T of W3C `tracestate` `ot=th:T` (OTel probability sampling): 1 - T / 2^56;
 * - the attribute `sampling.probability`;
 * - the attribute `SampleRate`, of which it is the inverse.
 *
 * 1 when none of them is present and valid: a plain ratio sampler leaves no trace of its ratio.
 *
 * Source: https://opentelemetry.io/docs/specs/otel/trace/tracestate-probability-sampling/
 */
export function samplingProbability(span: OtlpSpan): number {
  const threshold = thresholdOf(span.traceState);
  if (threshold !== null) return 1 - threshold / MAX_ADJUSTED_COUNT;
  const probability = readNumber(span.attributes['sampling.probability']);
  if (probability !== null && probability > 0 && probability <= 1) return probability;
  const rate = readNumber(span.attributes['SampleRate']);
  return rate !== null && rate >= 1 ? 1 / rate : 1;
}

function thresholdOf(traceState: string): number | null {
  const member = traceState
    .split(',')
    .map((entry) => entry.trim())
    .find((entry) => entry.startsWith('ot='));
  const field = member
    ?.slice('ot='.length)
    .split(';')
    .find((pair) => pair.startsWith('th:'));
  const digits = field?.slice('th:'.length) ?? '';
  if (!/^[0-9a-f]{1,14}$/.test(digits)) return null;
  return Number.parseInt(digits.padEnd(THRESHOLD_DIGITS, '0'), 16);
}
