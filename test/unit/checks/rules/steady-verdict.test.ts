import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ShownVerdict,
  type SteadyVerdict,
  steadyVerdict,
} from '../../../../src/checks/rules/check-state.ts';
import { judgeThreshold, type ThresholdCheck } from '../../../../src/checks/rules/threshold.ts';
import type { Verdict } from '../../../../src/model.ts';
import { wilsonInterval } from '../../../../src/stats/intervals.ts';
import { uniforms } from '../../../support/uniforms.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 0, minute));

function play(shown: readonly ShownVerdict[], confirm: number): Verdict[] {
  let state: SteadyVerdict | null = null;
  return shown.map((one, minute) => {
    state = steadyVerdict(state, one, at(minute), confirm);
    return state.verdict;
  });
}

const ok: ShownVerdict = { verdict: 'ok', isClear: true };
const near: ShownVerdict = { verdict: 'ok', isClear: false };
const warning: ShownVerdict = { verdict: 'warning', isClear: false };
const critical: ShownVerdict = { verdict: 'critical', isClear: false };
const nothing: ShownVerdict = { verdict: 'no_data', isClear: false };

describe('a verdict', () => {
  it('changes when enough measurements in a row show another', () => {
    expect(play([ok, warning, warning, ok, warning, warning, warning], 3)).toEqual([
      'ok',
      'ok',
      'ok',
      'ok',
      'ok',
      'ok',
      'warning',
    ]);
  });

  it('is a warning when some of the measurements only warn', () => {
    expect(play([ok, critical, warning, critical, critical, critical], 3)).toEqual([
      'ok',
      'ok',
      'ok',
      'warning',
      'warning',
      'warning',
    ]);
  });

  it('stays critical until the value is back, and warns until it is back by the margin', () => {
    expect(play([critical, warning, near, ok], 1)).toEqual(['critical', 'critical', 'warning', 'ok']);
  });

  it('keeps in mind where it stood while there is no data', () => {
    expect(play([critical, nothing, warning, nothing, near, ok], 1)).toEqual([
      'critical',
      'no_data',
      'critical',
      'no_data',
      'warning',
      'ok',
    ]);
  });

  it('of a new check needs no confirmation to be ok, and is not known until a breach is confirmed', () => {
    expect(play([ok], 3)).toEqual(['ok']);
    expect(play([critical, critical, critical], 3)).toEqual(['no_data', 'no_data', 'critical']);
  });

  it('never changes more often than its confirmations allow, whatever is measured', () => {
    const shown = fc.constantFrom(ok, near, warning, critical, nothing);
    fc.assert(
      fc.property(fc.array(shown, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (all, confirm) => {
        const verdicts = play(all, confirm);
        const changes = verdicts.filter((verdict, i) => i > 0 && verdict !== verdicts[i - 1]).length;
        expect(changes).toBeLessThanOrEqual(Math.ceil(all.length / confirm));
      }),
    );
  });

  it('settles on what is measured for long enough', () => {
    const shown = fc.constantFrom(ok, near, warning, critical, nothing);
    fc.assert(
      fc.property(fc.array(shown, { maxLength: 30 }), fc.integer({ min: 1, max: 5 }), (before, confirm) => {
        for (const last of [ok, critical, nothing]) {
          // A breach on the way from no data to ok, and the confirmations of each.
          const end = Array.from({ length: 3 * confirm }, () => last);
          expect(play([...before, ...end], confirm).at(-1)).toBe(last.verdict);
        }
      }),
    );
  });
});

describe('a share that sits on its threshold', () => {
  const check: ThresholdCheck = {
    measure: 'feedback_positive_ratio',
    threshold: 0.6,
    severity: 'critical',
    segments: 'all',
    leastN: 30,
    confirm: 3,
    noData: 'silent',
  };
  const measurements = 90 * 288;

  /** How often the verdict changes within 90 days of measurements every 5 minutes, and what is found at each. */
  function changesOf(values: Iterable<{ readonly share: number; readonly n: number }>) {
    let state: SteadyVerdict | null = null;
    let before: Verdict | null = null;
    let [settled, found] = [0, 0];
    for (const { share, n } of values) {
      const { low, high } = wilsonInterval(share, n, 0.95);
      const reading = { kind: 'value', segment: 'all', value: share, ciLow: low, ciHigh: high, n } as const;
      const finding = judgeThreshold(check, [reading]);
      const next: SteadyVerdict = steadyVerdict(state, finding, at(0), check.confirm);
      if (before !== null && finding.verdict !== before) found++;
      if (state !== null && next.verdict !== state.verdict) settled++;
      [state, before] = [next, finding.verdict];
    }
    return { settled, found };
  }

  it.each([50, 300, 2000])('does not flap over a sliding day of %i opinions', (perDay) => {
    const random = uniforms(perDay);
    const opinion = (): number => (random() < check.threshold ? 1 : 0);
    function* slidingDays() {
      const opinions = Array.from({ length: perDay }, opinion);
      let positive = opinions.reduce((sum, one) => sum + one, 0);
      for (let measurement = 0, due = 0; measurement < measurements; measurement++) {
        for (due += perDay / 288; due >= 1; due--) {
          const next = opinion();
          opinions.push(next);
          positive += next - (opinions.shift() ?? 0);
        }
        yield { share: positive / perDay, n: perDay };
      }
    }
    const { settled, found } = changesOf(slidingDays());
    expect(found).toBeGreaterThan(100);
    // One change in two days, of a day whose mean truly wanders from one side to the other.
    expect(settled).toBeLessThan(45);
  });

  it.each([50, 300, 2000])('does not flap over days of %i opinions that are drawn anew each time', (n) => {
    const random = uniforms(n);
    function* freshDays() {
      for (let measurement = 0; measurement < 2000; measurement++) {
        let positive = 0;
        for (let i = 0; i < n; i++) positive += random() < check.threshold ? 1 : 0;
        yield { share: positive / n, n };
      }
    }
    const { settled, found } = changesOf(freshDays());
    expect(found).toBeGreaterThan(800);
    expect(settled).toBeLessThan(3);
  });
});
