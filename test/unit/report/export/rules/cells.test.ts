import { describe, expect, it } from 'vitest';
import { csvLine, jsonLine } from '../../../../../src/report/export/rules/cells.ts';
import type { CellType, ExportColumn } from '../../../../../src/report/export/rules/export-tables.ts';

const columnsOf = (...types: readonly CellType[]): ExportColumn[] =>
  types.map((type, index) => ({ name: `c${index}`, type, does: '', sql: '', isPrivate: false }));

describe('a CSV record', () => {
  it.each(['=1+1', '+1', '-1', '@sum', '\tx', '\rx'])('neutralises the formula %j', (text) => {
    expect(csvLine(columnsOf('text'), [text])).toMatch(/^"?'/);
  });

  it('keeps negative numbers as numbers', () => {
    expect(csvLine(columnsOf('double', 'bigint'), [-0.5, '-9007199254740993'])).toBe('-0.5,-9007199254740993\n');
  });

  it('distinguishes an empty text from null', () => {
    expect(csvLine(columnsOf('text', 'text'), ['', null])).toBe('"",\n');
  });

  it('quotes separators, quotes and line breaks', () => {
    expect(csvLine(columnsOf('text'), ['a,"b"\nc'])).toBe('"a,""b""\nc"\n');
  });
});

describe('a JSON line', () => {
  it('nests JSON columns, keeps 64-bit integers exact, and writes times with microseconds', () => {
    const row = ['{"a": [1]}', '9007199254740993', '-1', null];
    expect(jsonLine(columnsOf('json', 'bigint', 'timestamp', 'text'), row)).toBe(
      '{"c0":{"a": [1]},"c1":9007199254740993,"c2":"1969-12-31T23:59:59.999999Z","c3":null}\n',
    );
  });
});
