import { RecalldError } from '../../core/errors.ts';
import { at, malformed, quoted, type SourcePlace } from '../../core/text/source-line.ts';
import {
  type ColumnReading,
  type ColumnRole,
  isRowNumberName,
  isUnnamed,
  plainName,
  roleOfColumn,
} from './column-roles.ts';
import { goldenLimits, type ReadGoldenSetOptions, tagKeyProblem, tagValueProblem } from './golden-set.ts';
import { mayHoldGrades } from './grade-text.ts';
import { noChoices } from './qrels-form.ts';
import { isGuardedTable, unguardCell } from './spreadsheet-cell.ts';

/** A row of a table, with the number of the line on which it starts. */
export interface TableRow extends SourcePlace {
  readonly cells: readonly string[];
  /** Indexes of the columns whose JSON value is a list or an object; their cells contain JSON text. */
  readonly nested?: readonly number[];
}

type TableRole = Exclude<ColumnRole, 'iteration'> | 'judgments';

export type TableColumns = ReturnType<typeof decideTableColumns>;

/** Returns the role of a column from its name alone; null for a tag, and for `id`, which is ambiguous. */
export function tableRoleOf(name: string): Exclude<ColumnRole, 'iteration'> | null {
  const role = roleOfColumn(name);
  return role === 'iteration' ? null : role;
}

/**
 * Assigns a role to each column, based on its name, the user's choice and its values.
 *
 * A column with an unknown name becomes a tag only if its value is the same in all rows of each query. A tag with
 * different values would split one query into several queries.
 *
 * @throws RecalldError `file_malformed` for a table that is ambiguous or lacks a column; `usage` if the user chose a
 * column that does not exist
 */
export function decideTableColumns(header: TableRow, rows: readonly TableRow[], options: ReadGoldenSetOptions) {
  const isGuarded = isGuardedTable(header.cells);
  const names = header.cells.map((cell) => (isGuarded ? unguardCell(cell.trim()) : cell.replace(/^\uFEFF/, '').trim()));
  if (names.some((name) => name.includes('\r'))) {
    throw malformed(header, 'ends with CR alone; save the file with LF or CRLF');
  }
  const chosen = choicesOf(names, options, header);
  const places = new Map<TableRole, number>(chosen.roles);
  const readings = new Map<number, ColumnReading>();
  const read = (index: number, readAs: ColumnReading['readAs'], reason: string | null): void => {
    readings.set(index, { column: names[index] || String(index + 1), readAs, reason });
  };
  for (const [role, index] of chosen.roles) read(index, role, `--${role}`);
  const unknown: number[] = [];
  for (const [index, name] of names.entries()) {
    if (readings.has(index)) continue;
    if (chosen.ignored.has(index)) read(index, 'ignored', '--ignore');
    else if (chosen.tags.has(index)) read(index, 'tag', '--tags');
    else if (isUnnamed(name)) read(index, 'ignored', unnamedColumn(rows, names, index));
    else if (isRowNumberName(name) && isCounting(rows, index)) read(index, 'ignored', 'row numbers');
    else {
      const role = tableRoleOf(name);
      const base = names.indexOf(name.replace(/\.\d+$/, ''));
      if (base !== -1 && base !== index && tableRoleOf(names[base] ?? '') !== null) {
        // pandas adds a suffix such as `.1` to the second of two columns with the same name.
        throw malformed(header, twoColumns(names[base] ?? '', name));
      }
      if (role === null || chosen.roles.has(role)) unknown.push(index);
      else {
        const isList = role === 'grade' && rows.some(({ cells }) => hasJudgments(cells[index] ?? ''));
        const other = places.get(isList ? 'judgments' : role);
        if (other !== undefined) throw malformed(header, twoColumns(names[other] ?? '', name));
        places.set(isList ? 'judgments' : role, index);
        read(index, isList ? 'judgments' : role, isList ? 'each judgment has a document and a grade' : null);
      }
    }
  }
  const table = { header, rows, names, places };
  refuseMissingColumns(table);
  const id = unknown.find((index) => plainName(names[index] ?? '') === 'id');
  if (id !== undefined) {
    throw malformed(
      header,
      'has a column "id", which is ambiguous; rename it to query_id or document_id, or use --ignore id',
    );
  }
  const tags = unknown.filter((index) => {
    if (rows.some(({ cells }) => (cells[index] ?? '').trim() !== '')) return true;
    read(index, 'ignored', 'empty');
    return false;
  });
  refuseHiddenGrades(table, tags);
  refuseSplitting(table, tags, options.rowsAsQueries);
  for (const index of tags) read(index, 'tag', null);
  const tagged = names.flatMap((key, index) => (readings.get(index)?.readAs === 'tag' ? [{ index, key }] : []));
  refuseTags(header, tagged);
  return {
    /** Column index by role. */
    places,
    tags: tagged,
    readings: names.flatMap((_, index) => readings.get(index) ?? []),
    /** True if an apostrophe guards each cell that a spreadsheet would execute; the apostrophe must be removed. */
    isGuarded,
  };
}

/** Returns the roles of the columns that the user named. @throws RecalldError usage */
function choicesOf(names: readonly string[], { columns = noChoices }: ReadGoldenSetOptions, { file }: SourcePlace) {
  const find = (option: string, wanted: string): number => {
    const exact = names.indexOf(wanted);
    const index = exact === -1 ? names.findIndex((name) => plainName(name) === plainName(wanted)) : exact;
    if (index !== -1) return index;
    const known = names.filter((name) => name !== '').map(quoted);
    throw new RecalldError(
      'usage',
      `${file} has no column ${quoted(wanted)} for ${option}; its columns are ${known.join(', ')}.`,
    );
  };
  const roles = new Map<TableRole, number>();
  for (const role of ['query', 'document', 'grade'] as const) {
    const wanted = columns[role];
    if (wanted !== undefined) roles.set(role, find(`--${role}`, wanted));
  }
  return {
    roles,
    tags: new Set(columns.tags.map((name) => find('--tags', name))),
    ignored: new Set(columns.ignore.map((name) => find('--ignore', name))),
  };
}

/**
 * Returns the reason to ignore a column that has no name. Returns null if there is no reason; the caller then reports
 * the first row with a value in the column as an error.
 */
function unnamedColumn(rows: readonly TableRow[], names: readonly string[], index: number): string | null {
  const values = valuesOf(rows, index);
  if (values.length === 0) return 'empty';
  const isFirst = names.slice(0, index).every(isUnnamed);
  const isNumbers = isFirst && values.every((value) => /^\d+$/.test(value)) && new Set(values).size === values.length;
  return isNumbers ? 'row numbers' : null;
}

function valuesOf(rows: readonly TableRow[], index: number): string[] {
  return rows.map(({ cells }) => (cells[index] ?? '').trim()).filter((value) => value !== '');
}

/** True if a column counts the rows from 0 or from 1. */
function isCounting(rows: readonly TableRow[], index: number): boolean {
  const values = valuesOf(rows, index);
  const from = Number(values[0]);
  return (
    rows.length > 1 &&
    values.length === rows.length &&
    (from === 0 || from === 1) &&
    values.every((v, i) => v === String(from + i))
  );
}

function twoColumns(first: string, second: string): string {
  const ways = [first, second].map((name) => `--ignore ${nameOption(name)}`);
  const ignore = first === second ? '' : `, or use ${ways.join(' or ')}`;
  return `has columns with the same meaning: ${quoted(first)} and ${quoted(second)}; rename or remove one${ignore}`;
}

/** Quotes a name for use in a command if necessary. */
export function nameOption(name: string): string {
  return /^[\w.,-]+$/.test(name) ? name : `"${name.replaceAll(/\s+/g, ' ')}"`;
}

function missingColumn(what: 'query' | 'document', names: readonly string[]): string {
  const others = names.filter((name) => name !== '' && tableRoleOf(name) === null);
  const option = what === 'query' ? '--query' : '--document';
  const has = others.length === 0 ? '' : `; its other columns are ${others.map(quoted).join(', ')}`;
  const [only = ''] = others;
  const way = `name it with ${option} ${others.length === 1 ? nameOption(only) : 'COLUMN'}`;
  const noDocuments = what === 'document' ? ', or import one query per line with --format questions' : '';
  return `has no column "${what}"${has}; ${others.length === 0 ? 'add it' : way}${noDocuments}`;
}

interface Table {
  readonly header: SourcePlace;
  readonly rows: readonly TableRow[];
  readonly names: readonly string[];
  readonly places: ReadonlyMap<TableRole, number>;
}

function refuseMissingColumns({ header, names, places }: Table): void {
  if (!places.has('query')) {
    const hasIds = places.has('query_id') && places.has('document');
    throw malformed(
      header,
      hasIds
        ? 'has query ids but no column "query"; pass the file with the query texts as --queries FILE'
        : missingColumn('query', names),
    );
  }
  const roles = ['document', 'document_text', 'judgments', 'no_answer'] as const;
  if (!roles.some((role) => places.has(role))) throw malformed(header, missingColumn('document', names));
}

function hasJudgments(cell: string): boolean {
  return /^\s*\[\s*\{/.test(cell);
}

/** Rejects a table that has no grade column if another column appears to contain grades. */
function refuseHiddenGrades({ header, rows, names, places }: Table, tags: readonly number[]): void {
  if (places.has('grade') || places.has('judgments')) return;
  const index = tags.find((one) => mayHoldGrades(rows.map(({ cells }) => cells[one] ?? '')));
  if (index === undefined) return;
  const name = names[index] ?? '';
  const option = nameOption(name);
  throw malformed(
    header,
    `has no grade column, but ${quoted(name)} may contain grades; use --grade ${option} if it does, --tags ${option} if it distinguishes queries, or --ignore ${option}`,
  );
}

/** Rejects columns that have an unknown name and whose values differ between rows of the same query. */
function refuseSplitting(table: Table, tags: readonly number[], rowsAsQueries: boolean): void {
  const { header, names } = table;
  const problems = tags.flatMap((index) => {
    const problem = tagProblem(table, index, rowsAsQueries);
    return problem === null ? [] : [{ name: names[index] ?? '', ...problem }];
  });
  const [first] = problems;
  if (first === undefined) return;
  const all = problems.map(({ name }) => name).join(',');
  const splitting = problems.filter(({ isSplit }) => isSplit).map(({ name }) => name);
  const apart =
    splitting.length === 0 ? '' : `--tags ${nameOption(splitting.join(','))} if it distinguishes queries, or `;
  throw malformed(
    header,
    `has the column ${quoted(first.name)}, which ${first.text}; use ${apart}--ignore ${nameOption(all)}`,
  );
}

function tagProblem({ rows, names, places }: Table, index: number, rowsAsQueries: boolean) {
  const [query, queryId] = [places.get('query') ?? -1, places.get('query_id') ?? -1];
  const seen = new Map<string, TableRow>();
  for (const row of rows) {
    const value = (row.cells[index] ?? '').trim();
    const problem = value.length > goldenLimits.tagValueLength ? tagValueProblem(names[index] ?? '', value) : null;
    if (problem !== null) return { isSplit: false, text: `${problem.split(';')[0]} (${at(row)})` };
    const key = JSON.stringify([(row.cells[queryId] ?? '').trim() || (row.cells[query] ?? '').trim()]);
    const first = seen.get(key);
    if (first === undefined) seen.set(key, row);
    else if (!rowsAsQueries && (first.cells[index] ?? '').trim() !== value) {
      return { isSplit: true, text: `has several values for one query (lines ${first.line} and ${row.line})` };
    }
  }
  return null;
}

function refuseTags(header: SourcePlace, tagged: readonly { readonly key: string }[]): void {
  const keys = tagged.map(({ key }) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw malformed(header, `has two columns ${quoted(twice)}; rename one`);
  for (const key of keys) {
    const problem = tagKeyProblem(key);
    if (problem !== null) throw malformed(header, problem);
  }
  if (keys.length > goldenLimits.tags) {
    throw malformed(
      header,
      `has ${keys.length} columns for tags; use at most ${goldenLimits.tags}, and --ignore the others`,
    );
  }
}
