/** Reads JSON from other tools: one object per line, a list of objects, or one object, each with its line number. */
import { containerLines, fieldsOf, parseExactJson, repeatedName } from '../../core/text/json.ts';
import { findJsonFault } from '../../core/text/loose-json.ts';
import { malformed, parseJson, quoted, type SourceLine, type SourcePlace } from '../../core/text/source-line.ts';
import type { Placed } from '../rules/foreign-judgments.ts';
import { type TableRow, tableRoleOf } from '../rules/table-columns.ts';

type Lines = AsyncIterable<readonly SourceLine[]>;

/**
 * Yields the objects of a file that contains either one object per line or a single list of objects. The name of the
 * file does not matter.
 *
 * @throws RecalldError file_malformed
 */
export async function* jsonRows(lines: Lines, path: string): AsyncGenerator<Placed> {
  const batches = lines[Symbol.asyncIterator]();
  for (let next = await batches.next(); next.done !== true; next = await batches.next()) {
    const filled = next.value.findIndex(({ text }) => text.trim() !== '');
    if (filled === -1) continue;
    const all = joined(next.value, batches);
    const first = next.value[filled]?.text.trim() ?? '';
    if (first.startsWith('[') || first === '{') yield* listedRows(all, path);
    else yield* rowsInLines(all);
    return;
  }
}

async function* joined(
  batch: readonly SourceLine[],
  others: AsyncIterator<readonly SourceLine[]>,
): AsyncGenerator<readonly SourceLine[]> {
  yield batch;
  for (let next = await others.next(); next.done !== true; next = await others.next()) yield next.value;
}

async function* listedRows(lines: Lines, path: string): AsyncGenerator<Placed> {
  const { value, placed } = await wholeJson(lines, path);
  if (!Array.isArray(value)) throw malformed({ file: path, line: 1 }, 'is not a list of rows; save it as JSON lines');
  yield* value.map(placed);
}

async function* rowsInLines(lines: Lines): AsyncGenerator<Placed> {
  for await (const batch of lines) {
    for (const line of batch) {
      if (line.text.trim() === '') continue;
      yield { value: parseJson(line), place: line };
    }
  }
}

const ownKeys = ['judgments', 'forbidden', 'no_answer', 'steps'];

/**
 * True if an object is a row of a table rather than a query in recalld's own format. A row has a key for a document or
 * a grade, or a list under a key that recalld does not know.
 */
export function isTableRow(value: unknown): boolean {
  const fields = fieldsOf(value);
  if (fields === null || ownKeys.some((key) => Object.hasOwn(fields, key)) || Array.isArray(fields['relevant'])) {
    // In recalld's own format, `relevant` is a list of ids, not of objects.
    return Array.isArray(fields?.['relevant']) && fields['relevant'].some((one) => fieldsOf(one) !== null);
  }
  return Object.entries(fields).some(([key, held]) => {
    const role = tableRoleOf(key);
    return (
      role === 'document' || role === 'document_text' || role === 'grade' || (role === null && Array.isArray(held))
    );
  });
}

/**
 * Returns the rows of a table whose columns are the keys of the objects, the header first.
 *
 * @throws RecalldError file_malformed
 */
export function tableOfObjects(objects: readonly Placed[]): TableRow[] {
  const rows = objects.map(({ value, place }) => {
    const fields = fieldsOf(value);
    if (fields === null) throw malformed(place, 'is not a JSON object, unlike the first row');
    return { fields, place };
  });
  const names = [...new Set(rows.flatMap(({ fields }) => Object.keys(fields)))];
  const { file = '', line = 1 } = rows[0]?.place ?? {};
  const cells = rows.map(({ fields, place }) => {
    const values = names.map((name) => (Object.hasOwn(fields, name) ? fields[name] : null));
    const nested = values.flatMap((value, index) => (typeof value === 'object' && value !== null ? [index] : []));
    return { file: place.file, line: place.line, cells: values.map(cellOf), nested };
  });
  return [{ file, line, cells: names }, ...cells];
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.length === 0) return '';
  return JSON.stringify(value);
}

/** Parses the file as one JSON value. @throws RecalldError file_malformed */
export async function wholeJson(lines: Lines, path: string) {
  const texts: string[] = [];
  for await (const batch of lines) for (const { text } of batch) texts.push(text);
  const text = texts.join('\n');
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch {
    const fault = findJsonFault(text);
    const what = fault === null ? '' : `: at column ${fault.column} it has ${fault.problem}`;
    throw malformed({ file: path, line: fault?.line ?? 1 }, `is not valid JSON${what}; export the file again`);
  }
  const repeated = repeatedName(text);
  if (repeated !== null) {
    const what = `repeats the key ${quoted(repeated.name)} in one object; keep only one`;
    throw malformed({ file: path, line: repeated.line }, what);
  }
  const openings = containerLines(text);
  const lineOf = new Map<unknown, number>();
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    lineOf.set(part, openings[lineOf.size] ?? 1);
    for (const inner of Object.values(part)) visit(inner);
  };
  visit(value);
  const placeOf = (part: unknown): SourcePlace => ({ file: path, line: lineOf.get(part) ?? 1 });
  return {
    value,
    /** Returns a nested value with the line on which it begins. */
    placed: (part: unknown): Placed => ({ value: part, place: placeOf(part) }),
  };
}
