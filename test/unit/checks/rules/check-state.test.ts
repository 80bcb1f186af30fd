import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CheckStatus,
  nextStatus,
  type SteadyVerdict,
  stateAt,
  steadyVerdict,
  type ThresholdStatus,
} from '../../../../src/checks/rules/check-state.ts';
import {
  evaluateThreshold,
  type ThresholdCheck,
  type ThresholdFinding,
} from '../../../../src/checks/rules/threshold.ts';
import type { Verdict } from '../../../../src/core/model.ts';
import { wilsonInterval } from '../../../../src/math/stats/intervals.ts';
import { hours } from '../../../support/measurements.ts';
import { uniforms } from '../../../support/uniforms.ts';

const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 0, minute));

type ShownVerdict = Parameters<typeof steadyVerdict>[1];

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
  it('changes after enough consecutive measurements show another verdict', () => {
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

  it('is a warning if some of the measurements only warn', () => {
    expect(play([ok, critical, warning, critical, critical, critical], 3)).toEqual([
      'ok',
      'ok',
      'ok',
      'warning',
      'warning',
      'warning',
    ]);
  });

  it('stays critical until the value is within the threshold, and a warning until the value clears the margin', () => {
    expect(play([critical, warning, near, ok], 1)).toEqual(['critical', 'critical', 'warning', 'ok']);
  });

  it('resumes from its last known value after a gap without data', () => {
    expect(play([critical, nothing, warning, nothing, near, ok], 1)).toEqual([
      'critical',
      'no_data',
      'critical',
      'no_data',
      'warning',
      'ok',
    ]);
  });

  it('of a new check is OK without confirmation, but stays no_data until a breach is confirmed', () => {
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

  it('converges to a finding that is measured for long enough', () => {
    const shown = fc.constantFrom(ok, near, warning, critical, nothing);
    fc.assert(
      fc.property(fc.array(shown, { maxLength: 30 }), fc.integer({ min: 1, max: 5 }), (before, confirm) => {
        for (const last of [ok, critical, nothing]) {
          // The state may go from no data through a failure to ok, and each of the three states must be confirmed.
          const end = Array.from({ length: 3 * confirm }, () => last);
          expect(play([...before, ...end], confirm).at(-1)).toBe(last.verdict);
        }
      }),
    );
  });
});

describe('a share close to its threshold', () => {
  const check: ThresholdCheck = {
    measure: 'feedback_positive_ratio',
    threshold: 0.6,
    severity: 'critical',
    segments: 'all',
    minN: 30,
    confirm: 3,
    noData: 'silent',
  };
  const measurements = 90 * 288;

  /** Counts the verdict changes over these measurements, with confirmation (`confirmed`) and without (`found`). */
  function changesOf(values: Iterable<{ readonly share: number; readonly n: number }>) {
    let state: SteadyVerdict | null = null;
    let before: Verdict | null = null;
    let [confirmed, found] = [0, 0];
    for (const { share, n } of values) {
      const { low, high } = wilsonInterval(share, n, 0.95);
      const reading = { kind: 'value', segment: 'all', value: share, ciLow: low, ciHigh: high, n } as const;
      const finding = evaluateThreshold(check, [reading]);
      const next: SteadyVerdict = steadyVerdict(state, finding, at(0), check.confirm);
      if (before !== null && finding.verdict !== before) found++;
      if (state !== null && next.verdict !== state.verdict) confirmed++;
      [state, before] = [next, finding.verdict];
    }
    return { confirmed, found };
  }

  it.each([50, 300, 2000])('does not flap over a sliding window of one day with %i opinions', (perDay) => {
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
    const { confirmed, found } = changesOf(slidingDays());
    expect(found).toBeGreaterThan(100);
    // Some changes are real: on some days, the share of positive opinions crosses the threshold. On average, one change
    // every two days is acceptable.
    expect(confirmed).toBeLessThan(45);
  });

  it.each([50, 300, 2000])('does not flap over independently sampled days with %i opinions', (n) => {
    const random = uniforms(n);
    function* freshDays() {
      for (let measurement = 0; measurement < 2000; measurement++) {
        let positive = 0;
        for (let i = 0; i < n; i++) positive += random() < check.threshold ? 1 : 0;
        yield { share: positive / n, n };
      }
    }
    const { confirmed, found } = changesOf(freshDays());
    expect(found).toBeGreaterThan(800);
    expect(confirmed).toBeLessThan(3);
  });
});

const minute = (at: number) => new Date(Date.UTC(2026, 10, 20, 12, at));
const found = (verdict: Verdict, parts: Partial<ThresholdFinding> = {}): ThresholdFinding => ({
  name: 'error_ratio above 0.05',
  severity: 'critical',
  threshold: 0.05,
  value: 0.1,
  ciLow: null,
  ciHigh: null,
  n: null,
  isBeyond: verdict === 'warning' || verdict === 'critical',
  segment: 'all',
  verdict,
  isClear: verdict === 'ok',
  isQuiet: verdict === 'no_data',
  explanation: 'It is 0.1.',
  ...parts,
});
const silent = { confirm: 2, noData: 'silent' } as const;

function playFindings(
  findings: readonly ThresholdFinding[],
  check: Parameters<typeof nextStatus>[0] = silent,
): ThresholdStatus {
  const statuses = findings.reduce<ThresholdStatus | null>(
    (before, finding, at) => nextStatus(check, before, finding, minute(at), minute(at)),
    null,
  );
  if (statuses === null) throw new Error('there is nothing to playFindings');
  return statuses;
}

describe('a check', () => {
  it('counts a measurement once, however often it is evaluated', () => {
    const before = nextStatus(silent, null, found('ok'), minute(0), minute(0));
    const once = nextStatus(silent, before, found('critical'), minute(5), minute(5));
    const again = nextStatus(silent, once, found('critical'), minute(5), minute(6));
    expect(again).toMatchObject({ verdict: 'ok', candidate: 'critical', seen: 1 });
    expect(nextStatus(silent, again, found('critical'), minute(10), minute(10)).verdict).toBe('critical');
  });

  it('explains why its verdict differs from the finding', () => {
    expect(playFindings([found('ok'), found('critical')]).explanation).toBe(
      'It is 0.1. The verdict stays ok until 2 consecutive measurements show critical (1 so far).',
    );
    const near = found('ok', { isClear: false });
    expect(playFindings([found('warning'), found('warning'), near]).explanation).toBe(
      'It is 0.1. The verdict stays warning until the value is better than the threshold by the required margin.',
    );
  });

  it('is quiet without traffic, unless it was failing or is configured to alert', () => {
    const quiet = [found('no_data'), found('no_data')];
    expect(playFindings([found('ok'), ...quiet])).toMatchObject({ verdict: 'no_data', isQuiet: true });
    const breached = [found('critical'), found('critical')];
    expect(playFindings([...breached, ...quiet])).toMatchObject({ verdict: 'no_data', isQuiet: false });
    expect(playFindings([found('ok'), ...quiet], { ...silent, noData: 'alert' })).toMatchObject({
      isQuiet: false,
    });
  });

  it('has no data immediately if its measurement fails, and is not quiet', () => {
    const broken = found('no_data', { isQuiet: false });
    expect(playFindings([found('ok'), broken])).toMatchObject({ verdict: 'no_data', isQuiet: false });
  });
});

const check = {
  kind: 'floor',
  measure: 'ndcg@10',
  pipeline: 'docs',
  goldenSet: 'faq',
  name: 'ndcg@10 below 0.8 on faq',
  severity: 'critical',
  threshold: 0.8,
  isQuietAtFirst: false,
} as const;

/** Returns a status that began an hour before its evaluation, and is trusted for three hours after the evaluation. */
function aStatus(parts: Partial<CheckStatus> = {}): CheckStatus {
  const { goldenSet: _, isQuietAtFirst: __, kind: ___, ...named } = check;
  return {
    ...named,
    verdict: 'ok',
    since: hours(-1),
    lastKnown: 'ok',
    candidate: null,
    seen: 0,
    value: 0.9,
    ciLow: 0.85,
    ciHigh: 0.94,
    n: 160,
    smallestDetectableDrop: null,
    before: 0.9,
    breachedSince: null,
    outageUntil: null,
    comparedWith: null,
    segment: null,
    explanation: 'It is 0.9.',
    isQuiet: false,
    evidenceAt: hours(0),
    evaluatedAt: hours(0),
    trustedUntil: hours(3),
    updatedAt: hours(0),
    ...parts,
  };
}

describe('the state of a check', () => {
  it('is the last evaluation while the evaluation is fresh enough to trust', () => {
    expect(stateAt(check, aStatus({ verdict: 'critical', threshold: 0.75 }), hours(3))).toEqual({
      smallestDetectableDrop: null,
      kind: 'floor',
      measure: 'ndcg@10',
      pipeline: 'docs',
      goldenSet: 'faq',
      name: check.name,
      severity: 'critical',
      threshold: 0.75,
      verdict: 'critical',
      since: hours(-1),
      value: 0.9,
      ciLow: 0.85,
      ciHigh: 0.94,
      n: 160,
      before: 0.9,
      breachedSince: null,
      outageUntil: null,
      comparedWith: null,
      segment: null,
      explanation: 'It is 0.9.',
      evaluatedAt: hours(0),
      isTooOld: false,
      isQuiet: false,
    });
  });

  it.each(['ok', 'warning', 'critical'] as const)(
    'is no_data from the time when the verdict %s becomes too old to trust, even if no worker evaluates the check',
    (verdict) => {
      const later = new Date(hours(3).getTime() + 1);
      expect(stateAt(check, aStatus({ verdict, isQuiet: true }), later)).toMatchObject({
        verdict: 'no_data',
        since: hours(3),
        value: null,
        ciLow: null,
        n: null,
        before: 0.9,
        explanation: 'It is 0.9.',
        isTooOld: true,
        isQuiet: false,
      });
    },
  );

  it('is no_data since the time that its evaluation recorded', () => {
    const noted = aStatus({ verdict: 'no_data', since: hours(4) });
    expect(stateAt(check, noted, hours(5))).toMatchObject({
      verdict: 'no_data',
      since: hours(4),
      isTooOld: true,
    });
  });

  it('never becomes too old if no measurement is expected', () => {
    const learning = aStatus({ verdict: 'no_data', isQuiet: true, trustedUntil: null });
    expect(stateAt(check, learning, hours(999))).toMatchObject({ isTooOld: false, isQuiet: true });
  });

  it('is no_data before the first evaluation, and alerts unless a baseline must be learned first', () => {
    expect(stateAt(check, null, hours(0))).toMatchObject({
      verdict: 'no_data',
      threshold: 0.8,
      since: null,
      explanation: null,
      evaluatedAt: null,
      isTooOld: false,
      isQuiet: false,
    });
    expect(stateAt({ ...check, isQuietAtFirst: true }, null, hours(0)).isQuiet).toBe(true);
  });
});
