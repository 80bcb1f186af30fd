import { beforeAll, expect, it } from 'vitest';
import { insertRows, queryRow, queryRows } from '../../../../src/platform/postgres/rows.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase('empty');

beforeAll(async () => {
  await database.pool.query(`
    create table measured_things (
      pipeline text not null, measured_at timestamptz not null, mean_value double precision, is_firing boolean,
      fired_on date, details jsonb, vector bytea, primary key (pipeline, measured_at))`);
});

const columns = {
  pipeline: 'text',
  measuredAt: 'timestamptz',
  meanValue: 'double precision',
  isFiring: 'boolean',
  firedOn: 'date',
  details: 'jsonb',
  vector: 'bytea',
} as const;

const at = new Date('2026-08-01T12:00:00.000Z');
const first = {
  pipeline: 'docs',
  measuredAt: at,
  meanValue: 0.5,
  isFiring: false,
  firedOn: '2026-08-01',
  details: { noted_by: ['a', 'b'] },
  vector: Buffer.from([1, 2]),
};
const second = {
  ...first,
  pipeline: 'faq',
  meanValue: null,
  isFiring: null,
  firedOn: null,
  details: null,
  vector: null,
};
const selected = `select pipeline, measured_at, mean_value, is_firing, fired_on::text, details, vector from measured_things`;

it('rows are inserted by the names and types of their columns, and read back unchanged', async () => {
  expect(await insertRows(database.pool, 'measured_things', columns, [first, second])).toBe(2);
  expect(await queryRows(database.pool, `${selected} order by pipeline`)).toEqual([first, second]);
  expect(await queryRow(database.pool, `${selected} where pipeline = $1::text`, ['faq'])).toEqual(second);
  expect(await queryRow(database.pool, `${selected} where pipeline = $1::text`, ['none'])).toBeNull();
});

it('a repeated insert returns the number of new rows', async () => {
  const third = { ...first, pipeline: 'blog' };
  const rest = 'on conflict do nothing';
  expect(await insertRows(database.pool, 'measured_things', columns, [third], rest)).toBe(1);
  expect(await insertRows(database.pool, 'measured_things', columns, [third], rest)).toBe(0);
});

it('an insert without rows sends nothing', async () => {
  expect(await insertRows(database.pool, 'no_such_table', columns, [])).toBe(0);
});

it('a lone surrogate in JSON text, which PostgreSQL would refuse, is replaced', async () => {
  const broken = { ...first, pipeline: 'broken', details: { text: 'a\ud800b' } };
  await insertRows(database.pool, 'measured_things', columns, [broken]);
  expect(await queryRow(database.pool, `${selected} where pipeline = 'broken'`)).toMatchObject({
    details: { text: 'a\ufffdb' },
  });
});
