import { array, assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type BacktestPeriod,
  type CheckBacktest,
  type EvaluatedCheck,
  replayCheck,
  type VerdictEpisode,
} from '../../../../src/checks/rules/verdict-episodes.ts';
import type { Verdict } from '../../../../src/core/model.ts';
import { NOON } from '../../../support/builders.ts';

const HOUR = 3600;
const hour = (count: number): Date => new Date(NOON.getTime() + count * HOUR * 1000);

interface Evaluation {
  readonly at: Date;
  readonly result: EvaluatedCheck;
}

/** An evaluation every hour, from noon on; a dot is an hour without an evaluation. */
function hourly(verdicts: readonly (Verdict | '.')[]): Evaluation[] {
  return verdicts.flatMap((verdict, index) => {
    if (verdict === '.') return [];
    const explanation = `evaluation ${index} is ${verdict}`;
    const result = {
      name: 'ndcg@10 below 0.8 on faq',
      severity: 'critical',
      threshold: 0.8,
    } as const;
    return [{ at: hour(index), result: { ...result, verdict, explanation } }];
  });
}

const period = (hours: number, trustedHours = 3) => ({
  until: hour(hours),
  trustedSeconds: trustedHours * HOUR,
});

function backtestCheck(history: readonly Evaluation[], of: BacktestPeriod): CheckBacktest | null {
  const replay = replayCheck(of);
  for (const { at, result } of history) replay.add(at, result);
  return replay.end();
}

describe('the backtest of a check', () => {
  it('counts episodes, not evaluations, and states how long they lasted', () => {
    const history = hourly(['ok', 'critical', 'critical', 'ok', 'warning', 'critical', 'ok']);
    expect(backtestCheck(history, period(7))).toEqual({
      name: 'ndcg@10 below 0.8 on faq',
      severity: 'critical',
      threshold: 0.8,
      evaluations: 7,
      transitions: 5,
      firings: [
        {
          verdict: 'critical',
          episodes: 2,
          totalSeconds: 3 * HOUR,
          longestSeconds: 2 * HOUR,
          firstAt: hour(1),
          lastAt: hour(5),
          example: 'evaluation 1 is critical',
        },
        {
          verdict: 'warning',
          episodes: 1,
          totalSeconds: HOUR,
          longestSeconds: HOUR,
          firstAt: hour(4),
          lastAt: hour(4),
          example: 'evaluation 4 is warning',
        },
      ],
    });
  });

  it('extends the last verdict to the end of the period', () => {
    expect(backtestCheck(hourly(['critical']), period(2))?.firings).toMatchObject([{ totalSeconds: 2 * HOUR }]);
  });

  it('trusts a verdict no longer than the daemon does', () => {
    const history = hourly(['critical', '.', '.', '.', '.', 'critical', 'ok']);
    expect(backtestCheck(history, period(7))).toMatchObject({
      transitions: 3,
      firings: [
        { verdict: 'critical', episodes: 2, totalSeconds: 4 * HOUR },
        {
          verdict: 'no_data',
          episodes: 1,
          totalSeconds: 2 * HOUR,
          firstAt: hour(3),
          example: 'The check has not been evaluated for more than 3 h.',
        },
      ],
    });
  });

  it('reports the number of evaluations, but no episodes, for a check that never fired', () => {
    expect(backtestCheck(hourly(['ok', 'ok']), period(2))).toMatchObject({
      evaluations: 2,
      transitions: 0,
      firings: [],
    });
  });

  it('is empty if nothing was evaluated within the period', () => {
    expect(backtestCheck([], period(1))).toBeNull();
    expect(backtestCheck(hourly(['.', '.', 'critical']), period(2))).toBeNull();
  });

  it('covers the time from the first evaluation to the end, without gaps or overlaps', () => {
    const verdict = constantFrom('ok', 'warning', 'critical', 'no_data', '.' as const);
    assert(
      property(array(verdict, { minLength: 1, maxLength: 40 }), integer({ min: 1, max: 5 }), (verdicts, trusted) => {
        const history = hourly(verdicts);
        const episodes: VerdictEpisode[] = [];
        const replay = replayCheck(period(verdicts.length, trusted), (episode) => episodes.push(episode));
        for (const { at, result } of history) replay.add(at, result);
        replay.end();
        for (const [index, { from, until, verdict: shown }] of episodes.entries()) {
          expect(until > from).toBe(true);
          const next = episodes[index + 1];
          if (next === undefined) continue;
          expect(next.from).toEqual(until);
          expect(next.verdict).not.toBe(shown);
        }
        expect(episodes[0]?.from).toEqual(history[0]?.at);
        if (history.length > 0) expect(episodes.at(-1)?.until).toEqual(hour(verdicts.length));
      }),
    );
  });

  it('of three weeks is the recorded one', async () => {
    // Three weeks of an hourly check: a night with failures, a flapping afternoon, and two days without the scheduler.
    const weeks = Array.from({ length: 21 * 24 }, (_, at): Verdict | '.' => {
      if (at >= 50 && at < 58) return at < 52 ? 'warning' : 'critical';
      if (at >= 160 && at < 170) return at % 2 === 0 ? 'warning' : 'ok';
      if (at >= 300 && at < 348) return '.';
      return at === 400 ? 'no_data' : 'ok';
    });
    const found = backtestCheck(hourly(weeks), period(weeks.length));
    await expect(`${JSON.stringify(found, null, 2)}\n`).toMatchFileSnapshot(
      '../../../fixtures/backtest/three-weeks.json',
    );
  });
});
