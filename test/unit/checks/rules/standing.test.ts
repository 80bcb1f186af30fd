import { describe, expect, it } from 'vitest';
import { type Standing, settle } from '../../../../src/checks/rules/check-state.ts';
import type { ThresholdFinding } from '../../../../src/checks/rules/threshold.ts';
import type { Verdict } from '../../../../src/model.ts';

const minute = (at: number) => new Date(Date.UTC(2026, 10, 20, 12, at));
const found = (verdict: Verdict, parts: Partial<ThresholdFinding> = {}): ThresholdFinding => ({
  name: 'error_ratio above 0.05',
  severity: 'critical',
  threshold: 0.05,
  value: 0.1,
  segment: 'all',
  verdict,
  isClear: verdict === 'ok',
  isQuiet: verdict === 'no_data',
  explanation: 'It is 0.1.',
  ...parts,
});
const silent = { confirm: 2, noData: 'silent' } as const;

function play(findings: readonly ThresholdFinding[], check: Parameters<typeof settle>[0] = silent): Standing {
  const standings = findings.reduce<Standing | null>(
    (before, finding, at) => settle(check, before, finding, minute(at), minute(at)),
    null,
  );
  if (standings === null) throw new Error('there is nothing to play');
  return standings;
}

describe('a check', () => {
  it('counts a measurement once, however often it is looked at', () => {
    const before = settle(silent, null, found('ok'), minute(0), minute(0));
    const once = settle(silent, before, found('critical'), minute(5), minute(5));
    const again = settle(silent, once, found('critical'), minute(5), minute(6));
    expect(again).toMatchObject({ verdict: 'ok', candidate: 'critical', seen: 1 });
    expect(settle(silent, again, found('critical'), minute(10), minute(10)).verdict).toBe('critical');
  });

  it('says why it stands at something else than what was found', () => {
    expect(play([found('ok'), found('critical')]).explanation).toBe(
      'It is 0.1. It stands at ok: 1 of the 2 measurements in a row that it takes show critical.',
    );
    const near = found('ok', { isClear: false });
    expect(play([found('warning'), found('warning'), near]).explanation).toBe(
      'It is 0.1. It stands at warning until the value is better than the threshold by a margin.',
    );
  });

  it('is quiet without traffic, unless it was breached or is told to alarm', () => {
    const quiet = [found('no_data'), found('no_data')];
    expect(play([found('ok'), ...quiet])).toMatchObject({ verdict: 'no_data', isQuiet: true });
    const breached = [found('critical'), found('critical')];
    expect(play([...breached, ...quiet])).toMatchObject({ verdict: 'no_data', isQuiet: false });
    expect(play([found('ok'), ...quiet], { ...silent, noData: 'alarm' })).toMatchObject({ isQuiet: false });
  });

  it('knows nothing at once when its measure is broken, and is not quiet', () => {
    const broken = found('no_data', { isQuiet: false });
    expect(play([found('ok'), broken])).toMatchObject({ verdict: 'no_data', isQuiet: false });
  });
});
