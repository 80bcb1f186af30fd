import { describe, expect, it } from 'vitest';
import { type DayDigest, type ExportedDay, planDays } from '../../../../../src/report/export/rules/plan-days.ts';

const all = { from: null, until: null };
const stored = (day: string, rows = 10, changed = '1000'): DayDigest => ({ day, rows, changed });
const exported = (...days: readonly (readonly [string, ExportedDay])[]) => new Map(days);
const asOf = ({ day, rows, changed }: DayDigest, readAt = '2026-11-28T12:00:00Z') =>
  [day, { source_rows: rows, changed_micros: changed, read_at: readAt }] as const;

describe('the days that an export writes', () => {
  it('are all days of an empty folder', () => {
    const days = [stored('2026-11-19'), stored('2026-11-20')];
    expect(planDays(days, exported(), true, all)).toEqual({ write: days, remove: [], unchanged: 0 });
  });

  it('exclude days that are unchanged in the folder', () => {
    const day = stored('2026-11-19');
    expect(planDays([day], exported(asOf(day)), true, all)).toEqual({ write: [], remove: [], unchanged: 1 });
  });

  it.each([
    ['rows were added', stored('2026-11-19', 11)],
    ['rows were erased', stored('2026-11-19', 9)],
    ['a row was changed', stored('2026-11-19', 10, '2000')],
  ])('include a day in which %s', (_, now) => {
    const { write } = planDays([now], exported(asOf(stored('2026-11-19'))), true, all);
    expect(write).toEqual([now]);
  });

  it('include a day that was read within an hour after its end, because traces may complete its rows', () => {
    const day = stored('2026-11-19');
    expect(planDays([day], exported(asOf(day, '2026-11-20T00:59:59Z')), true, all).write).toEqual([day]);
    expect(planDays([day], exported(asOf(day, '2026-11-20T01:00:00Z')), true, all).write).toEqual([]);
  });

  it('are all days after a change to the layout of the table', () => {
    const day = stored('2026-11-19');
    expect(planDays([day], exported(asOf(day)), false, all).write).toEqual([day]);
  });

  it('exclude days without rows in the database, which are removed within the exported range', () => {
    const folder = exported(asOf(stored('2026-11-18')), asOf(stored('2026-11-19')));
    expect(planDays([], folder, true, all).remove).toEqual(['2026-11-18', '2026-11-19']);
    expect(planDays([], folder, true, { from: '2026-11-19', until: '2026-11-19' }).remove).toEqual(['2026-11-19']);
  });
});
