import { describe, expect, it } from 'vitest';
import { startTicks, type TickContext, type Ticked } from '../../../src/app/jobs.ts';
import { RecalldError } from '../../../src/core/errors.ts';
import { NOON } from '../../support/builders.ts';
import { MemorySchedule } from '../../support/memory-schedule.ts';
import { MemoryLogger, MemoryMeter } from '../../support/memory-telemetry.ts';
import { aRightClock } from '../../support/right-clock.ts';
import { SteerableClock } from '../../support/steerable-clock.ts';

const HOURLY = '0 * * * *';
const HOUR_MS = 3_600_000;
const at = (hour: number): Date => new Date(NOON.getTime() + hour * HOUR_MS);
const away = new RecalldError('database_unreachable', 'PostgreSQL does not respond.');

/** Returns an hourly schedule whose ticks are stored unless storage fails. */
function anHourlySchedule(parts: Partial<Ticked> = {}, clockWatch: TickContext['clockWatch'] = aRightClock) {
  const clock = new SteerableClock(at(10));
  const schedule = new MemorySchedule();
  const logger = new MemoryLogger();
  const meter = new MemoryMeter();
  const stored: string[] = [];
  /** Times of the attempts, in seconds from the start. */
  const tried: number[] = [];
  const state: { failure: unknown; hang: Promise<void> | null } = { failure: null, hang: null };
  const ticks = startTicks({ clock, schedule, logger, meter, clockWatch }, [
    {
      cron: { expression: HOURLY, timezone: 'UTC' },
      what: 'golden run of faq on docs',
      job: 'run-golden-set',
      madeUpFor: false,
      begin: (plannedAt) => async () => {
        tried.push(clock.monotonicMs() / 1000);
        await state.hang;
        if (state.failure !== null) throw state.failure;
        stored.push(plannedAt.toISOString().slice(11, 16));
      },
      ...parts,
    },
  ]);
  return {
    clock,
    ticks,
    stored,
    tried,
    state,
    logger,
    fire: (hour: number) => schedule.fire(HOURLY, at(hour)),
    givenUp: () =>
      meter.increments.filter(({ value }) => value > 0).map(({ name, labels }) => `${name} ${labels['task']}`),
    levels: () => logger.lines.map(({ level }) => level),
  };
}

describe('a tick that cannot be stored', () => {
  it('is retried at growing intervals, and stored once', async () => {
    const { clock, stored, tried, state, fire, levels, givenUp } = anHourlySchedule();
    state.failure = away;
    fire(1);
    await clock.advance(90_000);
    expect(tried).toEqual([0, 1, 3, 7, 15, 31, 61]);
    expect(stored).toEqual([]);
    state.failure = null;
    await clock.advance(HOUR_MS / 2);
    expect(stored).toEqual(['13:00']);
    expect(levels()).toEqual(['warn', 'info']);
    expect(givenUp()).toEqual([]);
  });

  it('is abandoned, logged and counted when the next tick is due, and only the latest tick is stored', async () => {
    const { clock, stored, state, fire, logger, givenUp } = anHourlySchedule();
    state.failure = away;
    for (const hour of [1, 2, 3]) {
      fire(hour);
      await clock.advance(HOUR_MS);
    }
    state.failure = null;
    await clock.advance(HOUR_MS);
    expect(stored).toEqual(['15:00']);
    expect(givenUp()).toEqual([
      'recalld_ticks_given_up_total run-golden-set',
      'recalld_ticks_given_up_total run-golden-set',
    ]);
    expect(logger.lines.filter(({ level }) => level === 'error')).toEqual(
      ['13', '14'].map((hour) => ({
        level: 'error',
        message: 'a scheduled start was abandoned at the next scheduled time',
        fields: { what: 'golden run of faq on docs', planned_at: `2026-11-20T${hour}:00:00.000Z` },
      })),
    );
  });

  it('is retried until the next tick is due, however far away that is', async () => {
    const { clock, tried, state, fire } = anHourlySchedule();
    state.failure = away;
    fire(1);
    await clock.advance(24 * HOUR_MS);
    const before = tried.length;
    expect(before).toBeGreaterThan(2500);
    state.failure = null;
    fire(2);
    await clock.advance(HOUR_MS);
    expect(tried).toHaveLength(before + 1);
  });

  it('delays the next tick while its storage hangs, so that the two are never stored concurrently', async () => {
    const { clock, stored, state, fire } = anHourlySchedule();
    let letGo = (): void => undefined;
    state.hang = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    fire(1);
    await clock.advance(1000);
    fire(2);
    await clock.advance(1000);
    expect(stored).toEqual([]);
    letGo();
    await clock.advance(1000);
    expect(stored).toEqual(['13:00', '14:00']);
  });

  it('is not retried after a permanent error', async () => {
    const { clock, tried, state, fire, levels } = anHourlySchedule();
    state.failure = new RecalldError('golden_set_unknown', 'There is no golden set "faq".');
    fire(1);
    await clock.advance(HOUR_MS);
    expect(tried).toEqual([0]);
    expect(levels()).toEqual(['error']);
  });

  it('is not retried once the daemon stops, and does not delay the shutdown', async () => {
    const { clock, ticks, tried, stored, state, fire, givenUp } = anHourlySchedule();
    state.failure = away;
    fire(1);
    await clock.advance(500);
    await ticks.stop();
    state.failure = null;
    await clock.advance(HOUR_MS);
    expect(tried).toEqual([0]);
    expect(stored).toEqual([]);
    expect(givenUp()).toEqual([]);
  });

  it('resumes at the step that failed', async () => {
    const steps: string[] = [];
    let fails = true;
    const { clock, fire } = anHourlySchedule({
      begin: () => {
        let made = false;
        return async () => {
          if (!made) steps.push('run');
          made = true;
          if (fails) throw away;
          steps.push('job');
        };
      },
    });
    fire(1);
    await clock.advance(500);
    fails = false;
    await clock.advance(HOUR_MS);
    expect(steps).toEqual(['run', 'job']);
  });
});

describe('a scheduled start', () => {
  it('that was missed during downtime is made up for once, at its latest planned time, if so configured', async () => {
    const { clock, stored } = anHourlySchedule({ madeUpFor: true });
    await clock.advance(1);
    expect(stored).toEqual(['22:00']);
  });
});

describe('a wrong clock', () => {
  it('starts nothing before its planned time', async () => {
    const { clock, fire, tried } = anHourlySchedule();
    fire(11);
    await clock.advance(1000);
    expect(tried).toEqual([]);
  });

  it('starts and retries nothing, and the latest start is made up for once after the correction', async () => {
    const wrong = { isWrong: true, rightAgain: (): void => undefined };
    const { clock, fire, tried, stored, state, givenUp } = anHourlySchedule(
      { madeUpFor: true },
      {
        ...aRightClock,
        isRight: async () => !wrong.isWrong,
        whenRightAgain(then) {
          wrong.rightAgain = then;
        },
      },
    );
    for (const hour of [3, 4, 5]) {
      await clock.advance(60_000);
      fire(hour);
    }
    await clock.advance(60_000);
    expect(tried).toEqual([]);
    wrong.isWrong = false;
    wrong.rightAgain();
    await clock.advance(1000);
    expect(stored).toEqual(['22:00']);
    state.failure = away;
    fire(1);
    await clock.advance(500);
    wrong.isWrong = true;
    const before = tried.length;
    await clock.advance(HOUR_MS);
    expect(tried).toHaveLength(before);
    expect(givenUp()).toEqual([]);
  });
});
