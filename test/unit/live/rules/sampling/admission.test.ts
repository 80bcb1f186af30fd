import { array, assert, constant, integer, nat, property, record } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Admission,
  type AdmissionLoad,
  admissionChance,
  CALM_MS,
  MAX_LEVEL,
  nextAdmission,
  openAdmission,
} from '../../../../../src/live/rules/sampling/admission.ts';

const MINUTE = 60_000;

function aLoad(parts: Partial<AdmissionLoad> = {}): AdmissionLoad {
  return { arrived: 0, admitted: 0, capacity: 300, oldestMs: 0, patienceMs: 10 * MINUTE, ...parts };
}

/**
 * Simulates a store that can process `done` queries a minute; `arriving` contains the number of arriving queries in
 * each minute. Returns the level and the number of waiting queries in each minute.
 */
function minutes(arriving: readonly number[], done: number, capacity: number): { levels: number[]; waiting: number[] } {
  let admission: Admission = openAdmission;
  let admitted = 0;
  const levels: number[] = [];
  const waiting: number[] = [];
  for (const [minute, arrived] of arriving.entries()) {
    const oldestMs = (admitted / Math.max(1, done)) * MINUTE;
    admission = nextAdmission(admission, aLoad({ arrived, admitted, capacity, oldestMs }), minute * MINUTE);
    admitted = Math.max(0, admission.waiting - done);
    levels.push(admission.level);
    waiting.push(admission.waiting);
  }
  return { levels, waiting };
}

describe('the admitted share', () => {
  it.each([
    ['everything if it fits', { arrived: 300 }, 0],
    ['half if slightly too much arrives', { arrived: 301 }, 1],
    ['a quarter if 800 arrive and 300 fit', { arrived: 800 }, 2],
    ['half if earlier queries occupy half of the capacity', { arrived: 300, admitted: 150 }, 1],
    [
      'what fits into an eighth of the capacity if earlier queries occupy all of it',
      { arrived: 300, admitted: 5000 },
      3,
    ],
  ])('is %s', (_, load, level) => {
    expect(nextAdmission(openAdmission, aLoad(load), 0).level).toBe(level);
  });

  it('decreases when the oldest query waits too long and the queue does not shrink', () => {
    const late = aLoad({ arrived: 20, admitted: 100, oldestMs: 11 * MINUTE });
    const first = nextAdmission(openAdmission, late, 0);
    expect(first).toMatchObject({ level: 0, isOverdue: true });
    expect(nextAdmission(first, late, MINUTE).level).toBe(1);
    expect(nextAdmission(first, aLoad({ ...late, admitted: 50 }), MINUTE).level).toBe(0);
  });

  it('recovers after a burst by one level at a time, several minutes apart', () => {
    const quiet = Array.from({ length: 40 }, () => 10);
    const { levels } = minutes([5000, ...quiet], 60, 300);
    expect(levels[0]).toBe(5);
    expect(levels.at(-1)).toBe(0);
    for (const [minute, level] of levels.entries()) {
      const before = levels[minute - 1] ?? level;
      expect(before - level).toBeLessThanOrEqual(1);
      const calm = CALM_MS / MINUTE;
      if (level < before) expect(new Set(levels.slice(minute - calm, minute))).toEqual(new Set([before]));
    }
  });

  it('is stable under a steady overload', () => {
    const { levels, waiting } = minutes(
      Array.from({ length: 240 }, () => 230),
      60,
      300,
    );
    const changes = levels.filter((level, minute) => minute > 0 && level !== levels[minute - 1]).length;
    expect(changes).toBeLessThanOrEqual(240 / 5);
    expect(Math.max(...waiting)).toBeLessThanOrEqual(300);
    expect(levels.at(-1)).toBeGreaterThan(0);
  });
});

const load = record({
  arrived: integer({ min: 0, max: 1_000_000 }),
  admitted: integer({ min: 0, max: 1_000_000 }),
  capacity: integer({ min: 1, max: 100_000 }),
  oldestMs: integer({ min: 0, max: 6 * 60 * MINUTE }),
  patienceMs: constant(10 * MINUTE),
});

/** Returns the admission after these loads, which are one minute apart. */
function after(loads: readonly AdmissionLoad[]): Admission {
  return loads.reduce<Admission>(
    (admission, one, index) => nextAdmission(admission, one, index * MINUTE),
    openAdmission,
  );
}

describe('for any load', () => {
  it('the probability is a power of two in (0, 1]', () => {
    assert(
      property(array(load, { maxLength: 30 }), (loads) => {
        const { level } = after(loads);
        expect(Number.isSafeInteger(level) && level >= 0 && level <= MAX_LEVEL).toBe(true);
        expect(admissionChance(level) * 2 ** level).toBe(1);
      }),
    );
  });

  it('the admitted queries fit into the remaining capacity, or into its minimum share', () => {
    assert(
      property(array(load, { maxLength: 20 }), load, (loads, now) => {
        const { level } = nextAdmission(after(loads), now, loads.length * MINUTE);
        const room = Math.max(now.capacity - now.admitted, now.capacity / 8);
        expect(level === MAX_LEVEL || now.arrived * 2 ** -level <= room).toBe(true);
      }),
    );
  });

  it('the probability at most doubles between two decisions', () => {
    assert(
      property(array(load, { maxLength: 20 }), load, (loads, now) => {
        const before = after(loads);
        const { level } = nextAdmission(before, now, loads.length * MINUTE);
        expect(before.level - level).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('more queries never raise the probability', () => {
    assert(
      property(array(load, { maxLength: 20 }), load, nat(100_000), (loads, now, more) => {
        const before = after(loads);
        const nowMs = loads.length * MINUTE;
        const { level } = nextAdmission(before, now, nowMs);
        const heavier = { ...now, arrived: now.arrived + more };
        expect(nextAdmission(before, heavier, nowMs).level).toBeGreaterThanOrEqual(level);
      }),
    );
  });

  it('everything is admitted eventually when no more queries arrive', () => {
    assert(
      property(array(load, { maxLength: 20 }), (loads) => {
        const quiet = Array.from({ length: (MAX_LEVEL + 2) * 6 }, () => aLoad());
        expect(after([...loads, ...quiet]).level).toBe(0);
      }),
    );
  });
});
