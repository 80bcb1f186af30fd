import { expect, it } from 'vitest';
import { binaryArray, type Element, type ElementType } from '../../../../src/platform/postgres/values.ts';
import { useDatabase } from '../../../support/database.ts';

const database = useDatabase();

/** Returns the elements as PostgreSQL parsed them. */
async function received(type: ElementType, values: readonly Element[]): Promise<unknown[]> {
  const { rows } = await database.pool.query<{ value: unknown }>(
    `select value from unnest($1::${type}[]) with ordinality as u (value, position) order by position`,
    [binaryArray(type, values)],
  );
  return rows.map(({ value }) => value);
}

it.each<[ElementType, readonly Element[]]>([
  ['text', ['', 'plain', null, '{"quoted", \\ and ,}', 'ñ \u{1F600}\n', 'NULL', 'x'.repeat(100_000)]],
  ['bytea', [Buffer.alloc(0), null, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))]],
  ['integer', [0, -1, null, 2 ** 31 - 1, -(2 ** 31)]],
  ['smallint', [0, -1, null, 2 ** 15 - 1, -(2 ** 15)]],
  ['double precision', [0, 0.1 + 0.2, null, -1e308, Number.POSITIVE_INFINITY]],
  ['timestamptz', [new Date(0), null, new Date('1999-12-31T23:59:59.999Z'), new Date('2026-11-20T15:45:00.123Z')]],
  ['text', []],
  ['integer', [null]],
])('PostgreSQL receives %s as it was sent', async (type, values) => {
  expect(await received(type, values)).toEqual(values);
});

it('a date is the UTC day of its time', async () => {
  const times = ['2000-01-01T00:00Z', '1970-01-01T23:59:59.999Z', '2026-11-22T12:00Z', '2024-02-29T00:00+02:00'];
  const { rows } = await database.pool.query<{ day: string }>('select unnest($1::date[])::text as day', [
    binaryArray(
      'date',
      times.map((time) => new Date(time)),
    ),
  ]);
  expect(rows.map(({ day }) => day)).toEqual(['2000-01-01', '1970-01-01', '2026-11-22', '2024-02-28']);
});

it('a lone surrogate becomes the replacement character, as with other parameters', async () => {
  expect(await received('text', ['a\uD800b'])).toEqual(['a\uFFFDb']);
});

it('a value of the wrong type or out of range is refused before it is sent', () => {
  expect(() => binaryArray('text', [1])).toThrow(TypeError);
  expect(() => binaryArray('integer', ['1'])).toThrow(TypeError);
  expect(() => binaryArray('smallint', [2 ** 15])).toThrow(RangeError);
});
