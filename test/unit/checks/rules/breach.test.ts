import { describe, expect, it } from 'vitest';
import { type Breach, type Evaluation, updateBreach } from '../../../../src/checks/rules/check-state.ts';
import { hours } from '../../../support/measurements.ts';

/** Returns the breach after each of these hourly evaluations, each of a measurement over the previous hour. */
function breachesAfter(parts: readonly (Partial<Evaluation> | 'good' | 'bad')[]): Breach[] {
  let breach: Breach | null = null;
  return parts.map((part, hour) => {
    const isBad = part === 'bad';
    breach = updateBreach(breach, {
      verdict: isBad ? 'critical' : 'ok',
      isBeyond: isBad,
      value: isBad ? 0.1 : 0.9,
      evidence: { from: hours(hour - 1), until: hours(hour) },
      outageAt: null,
      ...(typeof part === 'string' ? {} : part),
    });
    return breach;
  });
}

const unconfirmed: Partial<Evaluation> = { verdict: 'ok', isBeyond: true, value: 0.2 };
const recovering: Partial<Evaluation> = { verdict: 'critical', isBeyond: false };
const noData: Partial<Evaluation> = { verdict: 'no_data', value: null, evidence: null };
const out = (hour: number): Partial<Evaluation> => ({
  verdict: 'critical',
  isBeyond: true,
  value: 0,
  outageAt: hours(hour),
});

describe('a breach', () => {
  it('starts with its first bad measurement, confirmed or not, and keeps the last good value', () => {
    expect(breachesAfter(['good', unconfirmed, 'bad']).at(-1)).toEqual({
      before: 0.9,
      breachedSince: hours(1),
      outageUntil: null,
    });
  });

  it('continues during recovery and while there is no data, and ends when the check is OK', () => {
    const [, , third, fourth, last] = breachesAfter(['good', 'bad', recovering, noData, 'good']);
    expect(third).toMatchObject({ before: 0.9, breachedSince: hours(1) });
    expect(fourth).toMatchObject({ before: 0.9, breachedSince: hours(1) });
    expect(last).toEqual({ before: 0.9, breachedSince: null, outageUntil: null });
  });

  it('has no earlier value if the check was never OK', () => {
    expect(breachesAfter(['bad'])).toEqual([{ before: null, breachedSince: hours(0), outageUntil: null }]);
  });

  it('belongs to an outage while every bad measurement overlaps the outage, even if only its end', () => {
    const during = breachesAfter(['good', out(1), out(2), 'bad', 'good']);
    expect(during.map(({ outageUntil }) => outageUntil)).toEqual([null, hours(1), hours(2), hours(2), null]);
  });

  it('is independent of an outage if a bad measurement is entirely later, or if the breach began earlier', () => {
    expect(breachesAfter(['good', out(1), 'bad', 'bad']).map(({ outageUntil }) => outageUntil)).toEqual([
      null,
      hours(1),
      hours(1),
      null,
    ]);
    expect(breachesAfter(['good', 'bad', out(2)]).at(-1)?.outageUntil).toBeNull();
  });

  it('still belongs to the outage during good measurements that do not end the breach yet', () => {
    expect(breachesAfter(['good', out(1), recovering, recovering]).at(-1)?.outageUntil).toEqual(hours(1));
  });
});
