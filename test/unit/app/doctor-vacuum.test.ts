import { describe, expect, it } from 'vitest';
import { examineVacuum } from '../../../src/app/doctor/foundations.ts';
import type { VacuumState } from '../../../src/platform/postgres/vacuum.ts';
import { NOON } from '../../support/builders.ts';

const healthy: VacuumState = { isAutovacuumOn: true, excluded: [], worst: null, idle: [] };
const examine = (state: Partial<VacuumState>) => examineVacuum({ ...healthy, ...state }, NOON);

describe('the doctor, on dead rows of the database,', () => {
  it('reports ok for a table that autovacuum keeps clean, and for short transactions', () => {
    const few = { table: 'live_queries', deadRows: 49_999, deadShare: 0.9, vacuumedAt: null };
    const thin = { table: 'live_queries', deadRows: 1_000_000, deadShare: 0.39, vacuumedAt: null };
    const idle = [{ pid: 7, application: 'psql', seconds: 299 }];
    const passing = [{ status: 'ok', message: 'Autovacuum is on, and no table has many dead rows.' }];
    expect([examine({ worst: few, idle }), examine({ worst: thin })]).toEqual([passing, passing]);
  });

  it('reports the last vacuum of the table with the most dead rows', () => {
    const vacuumedAt = new Date(NOON.getTime() - 3 * 3_600_000);
    const worst = { table: 'bullmq.jobs', deadRows: 50_000, deadShare: 0.4, vacuumedAt };
    expect(examine({ worst })).toEqual([
      {
        status: 'warning',
        message:
          '40 % of the rows of bullmq.jobs are dead, and the last vacuum was 180 minutes ago; run `vacuum bullmq.jobs`. If dead rows remain, end old transactions and drop unused replication slots.',
      },
    ]);
  });

  it('names one table without autovacuum, and counts the others', () => {
    expect(examine({ excluded: ['a', 'b', 'c'] })[0]?.message).toBe(
      'Autovacuum is off for the table a and 2 more; turn it on with `alter table a reset (autovacuum_enabled)`.',
    );
  });

  it('names the session that has been idle in a transaction the longest', () => {
    const idle = [
      { pid: 7, application: 'psql', seconds: 720 },
      { pid: 8, application: '', seconds: 301 },
    ];
    expect(examine({ idle })).toEqual([
      {
        status: 'warning',
        message:
          'A session of "psql" has been idle in a transaction for 12 minutes, so vacuum cannot remove dead rows; end it with `select pg_terminate_backend(7)`.',
      },
    ]);
  });
});
