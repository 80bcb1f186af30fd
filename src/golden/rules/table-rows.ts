import { contentId } from '../../core/text/content-id.ts';
import { parseExactJson } from '../../core/text/json.ts';
import { malformed, quoted, type SourcePlace } from '../../core/text/source-line.ts';
import { readGrade } from '../../math/ir/trec-line.ts';
import { idsOfList } from './cell-lists.ts';
import type { ReadGoldenSetOptions } from './golden-set.ts';
import type { GoldenSetBuilder } from './golden-set-builder.ts';
import { decimalOf, gradeTextProblem } from './grade-text.ts';
import { unguardCell } from './spreadsheet-cell.ts';
import { nameOption, type TableColumns, type TableRow, tableRoleOf } from './table-columns.ts';

/**
 * Adds the query of a row, and a judgment or a forbidden document for each document in the row. A document without a
 * grade is skipped if the table has a grade column; otherwise it is relevant, with grade 1. A row of empty cells adds
 * nothing.
 *
 * @throws RecalldError `file_malformed` for a bad value
 */
export function addTableRow(
  builder: GoldenSetBuilder,
  { places, tags, readings, isGuarded }: TableColumns,
  { cells, nested, ...place }: TableRow,
  options: ReadGoldenSetOptions,
): void {
  refuseNested(nested, readings, place);
  const clean = (value: string): string => {
    const text = isGuarded ? unguardCell(value) : value;
    if (text !== value) builder.warnings.count('apostrophe_removed', place);
    return text;
  };
  const cell = (role: Parameters<typeof places.get>[0]): string => clean(cells[places.get(role) ?? -1] ?? '');
  if (cells.every((value) => value.trim() === '')) return;
  const unnamed = readings.findIndex(
    ({ readAs, reason }, index) => readAs === 'ignored' && reason === null && (cells[index] ?? '').trim() !== '',
  );
  if (unnamed !== -1) {
    throw malformed(place, `has a value in column ${unnamed + 1}, which has no name; name the column or remove it`);
  }
  const id = cell('query_id');
  const queryId = builder.addQuery(
    {
      id: id.trim() === '' ? null : id,
      text: cell('query'),
      tags: Object.fromEntries(tags.map(({ index, key }) => [key, clean(cells[index] ?? '')])),
    },
    place,
    options.rowsAsQueries ? 'separate' : 'join',
  );
  for (const { document, grade } of judgmentsOf(cell('judgments'), place)) {
    addGraded(builder, queryId, document, grade, place, options);
  }
  const documents = documentsOf(cell('document'), cell('document_text'), place, options, builder);
  const gradeText = cell('grade').trim();
  const isForbidden = truthOf('forbidden', cell('forbidden').trim(), place);
  if (truthOf('no_answer', cell('no_answer').trim(), place)) {
    if (isForbidden || documents.length > 0 || gradeText !== '') {
      throw malformed(place, 'has no_answer with a document or a grade; leave these cells empty');
    }
    return builder.addNoAnswer(queryId, place);
  }
  if (isForbidden && gradeText !== '')
    throw malformed(place, 'both forbids and grades a document; leave one of the two cells empty');
  if (documents.length === 0) {
    if (isForbidden)
      throw malformed(place, 'forbids a document but names none; put the document id in the column document');
    if (!places.has('judgments')) builder.warnings.count('document_empty', place);
    return;
  }
  for (const document of documents) {
    if (isForbidden) builder.addForbidden(queryId, document, place);
    else addGraded(builder, queryId, document, places.has('grade') ? gradeText : null, place, options);
  }
}

/** Rejects nested JSON values other than lists of documents or judgments. */
function refuseNested(nested: TableRow['nested'], readings: TableColumns['readings'], place: SourcePlace): void {
  for (const index of nested ?? []) {
    const { column = '', readAs } = readings[index] ?? {};
    if (readAs === undefined || readAs === 'ignored' || readAs === 'document' || readAs === 'judgments') continue;
    const fix = readAs === 'tag' ? `add --ignore ${nameOption(column)}` : 'write a single text or number';
    throw malformed(place, `has a list or an object under ${quoted(column)}; ${fix}`);
  }
}

/** @param grade null if the table has no grades */
function addGraded(
  builder: GoldenSetBuilder,
  queryId: string,
  document: string,
  grade: string | null,
  place: SourcePlace,
  { relevanceThreshold }: ReadGoldenSetOptions,
): void {
  if (grade === null) return builder.addJudgment(queryId, document, 1, place);
  if (grade === '') return builder.warnings.count('grade_missing', place);
  builder.addJudgment(queryId, document, gradeOf(grade, relevanceThreshold, place), place);
}

function judgmentsOf(cell: string, place: SourcePlace): { readonly document: string; readonly grade: string }[] {
  if (cell.trim() === '') return [];
  let list: unknown;
  try {
    list = parseExactJson(cell);
  } catch {
    list = null;
  }
  if (!Array.isArray(list)) throw malformed(place, 'has no list of judgments, unlike other rows; write a list');
  return list.map((one: unknown) => {
    const fields = Object.entries(typeof one === 'object' && one !== null ? one : {});
    const value = (role: string): unknown => fields.find(([key]) => tableRoleOf(key) === role)?.[1];
    const [document, grade] = [value('document'), value('grade')];
    if (isScalar(document) && isScalar(grade)) return { document: String(document), grade: String(grade) };
    throw malformed(place, 'has a judgment without a document id or a grade; write {"doc_id": "...", "grade": 1}');
  });
}

function isScalar(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/**
 * Returns the document ids in the id cell, or the id that is derived from the text cell; empty if both cells are empty.
 */
function documentsOf(
  ids: string,
  text: string,
  place: SourcePlace,
  { documentsSeparator }: ReadGoldenSetOptions,
  builder: GoldenSetBuilder,
): readonly string[] {
  const ofText = contentId(text);
  if (ids.trim() === '') return ofText === null ? [] : [ofText];
  if (ofText !== null) {
    throw malformed(place, 'has both the id and the text of a document; leave one of the two cells empty');
  }
  if (documentsSeparator !== undefined) {
    return [...new Set(ids.split(documentsSeparator).map((id) => id.trim()))].filter((id) => id !== '');
  }
  if (/^\s*\{\s*['"].*\}\s*$/s.test(ids)) {
    throw malformed(place, `has the object ${quoted(ids)} where a document id belongs; write only the id`);
  }
  const list = idsOfList(ids);
  if (list !== null) return [...new Set(list)];
  if (/^\s*\[.*\]\s*$/s.test(ids)) {
    throw malformed(
      place,
      `has the list of documents ${quoted(ids)}, which is in neither JSON nor Python notation; write ["d1", "d2"]`,
    );
  }
  if (/[^\s,;][,;]\s*[^\s,;]/.test(ids)) builder.warnings.count('document_separators', place);
  return [ids];
}

function truthOf(column: string, text: string, place: SourcePlace): boolean {
  if (/^(true|yes|1)$/i.test(text)) return true;
  if (/^(|false|no|0)$/i.test(text)) return false;
  throw malformed(place, `has ${quoted(text)} under ${column}; write true, or leave the cell empty`);
}

/**
 * Parses the grade in a cell. If there is a relevance threshold, converts the grade with `binaryGrade`.
 *
 * @throws RecalldError file_malformed
 */
export function gradeOf(text: string, threshold: number | undefined, place: SourcePlace): number {
  const grade = readGrade(text);
  if (threshold === undefined && grade !== null) return grade;
  const number = grade ?? decimalOf(text);
  if (threshold === undefined || number === null) throw malformed(place, gradeTextProblem(text));
  return binaryGrade(number, threshold);
}

/** Returns 1 for a grade of at least the threshold, -1 (unjudged) for a negative grade, and otherwise 0. */
export function binaryGrade(grade: number, threshold: number): number {
  if (grade >= threshold) return 1;
  return grade < 0 ? -1 : 0;
}
