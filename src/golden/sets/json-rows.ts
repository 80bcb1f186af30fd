/** JSON of other programs: objects on lines of their own, in one list, or in one object, each with the line it begins in. */
import { containerLines, parseExactJson } from '../../text/json.ts';
import { malformed, parseJson, type SourceLine, type SourcePlace } from '../../text/source-line.ts';
import { fieldsOf, type Placed } from '../rules/foreign-judgments.ts';
import { type TableRow, tableRoleOf } from '../rules/table-columns.ts';

type Lines = AsyncIterable<readonly SourceLine[]>;

/** Objects on lines of their own, or in one list. @throws RecalldError file_malformed */
export async function* jsonRows(lines: Lines, path: string): AsyncGenerator<Placed> {
  if (/\.json$/i.test(path)) {
    const { value, placed } = await wholeJson(lines, path);
    if (!Array.isArray(value)) throw malformed({ file: path, line: 1 }, 'is no list of rows; save it as JSON lines');
    yield* value.map(placed);
    return;
  }
  for await (const batch of lines) {
    for (const line of batch) {
      if (line.text.trim() === '') continue;
      const value = parseJson(line);
      yield { value: /\d{16}/.test(line.text) ? parseExactJson(line.text) : value, place: line };
    }
  }
}

const ownKeys = ['judgments', 'forbidden', 'no_answer'];

/**
 * Whether an object is a row of a table, and no query in the form of recalld: it names a document or a grade under a key of
 * its own, or has a list under a key that recalld does not know.
 */
export function isTableRow(value: unknown): boolean {
  const fields = fieldsOf(value);
  if (fields === null || ownKeys.some((key) => Object.hasOwn(fields, key)) || Array.isArray(fields['relevant'])) {
    // `relevant` of objects is a table's.
    return Array.isArray(fields?.['relevant']) && fields['relevant'].some((one) => fieldsOf(one) !== null);
  }
  return Object.entries(fields).some(([key, held]) => {
    const role = tableRoleOf(key);
    return (
      role === 'document' || role === 'document_text' || role === 'grade' || (role === null && Array.isArray(held))
    );
  });
}

/** The rows of a table whose columns are the keys of the objects, its header first. @throws RecalldError file_malformed */
export function tableOfObjects(objects: readonly Placed[]): TableRow[] {
  const rows = objects.map(({ value, place }) => {
    const fields = fieldsOf(value);
    if (fields === null) throw malformed(place, 'is not a JSON object, which the first row is');
    return { fields, place };
  });
  const names = [...new Set(rows.flatMap(({ fields }) => Object.keys(fields)))];
  const { file = '', line = 1 } = rows[0]?.place ?? {};
  const cells = rows.map(({ fields, place }) => ({
    file: place.file,
    line: place.line,
    cells: names.map((name) => cellOf(Object.hasOwn(fields, name) ? fields[name] : null)),
  }));
  return [{ file, line, cells: names }, ...cells];
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.length === 0) return '';
  return JSON.stringify(value);
}

interface WholeJson {
  readonly value: unknown;
  /** A part of it, with the line in which it begins. */
  readonly placed: (part: unknown) => Placed;
}

/** @throws RecalldError file_malformed */
export async function wholeJson(lines: Lines, path: string): Promise<WholeJson> {
  const texts: string[] = [];
  for await (const batch of lines) for (const { text } of batch) texts.push(text);
  const text = texts.join('\n');
  let value: unknown;
  try {
    value = /\d{16}/.test(text) ? parseExactJson(text) : JSON.parse(text);
  } catch (error) {
    throw malformed({ file: path, line: lineOfError(error, text) }, 'is not JSON from there on; export the file again');
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
  return { value, placed: (part) => ({ value: part, place: placeOf(part) }) };
}

/** V8 tells the offset of most errors, and of a text that is cut off its end. */
function lineOfError(error: unknown, text: string): number {
  const message = error instanceof Error ? error.message : '';
  const offset = /at position (\d+)/.exec(message)?.[1];
  if (offset === undefined) return message.includes('end of JSON') ? text.split('\n').length : 1;
  return text.slice(0, Number(offset)).split('\n').length;
}
