import { type Fields, fieldsOf } from '../../core/text/json.ts';
import { malformed, parseJson, quoted, type SourceLine } from '../../core/text/source-line.ts';
import { roleOfColumn } from './column-roles.ts';
import { goldenLimits, type QueryDraft, tagKeyProblem, tagValueProblem } from './golden-set.ts';

/**
 * Parses `{"_id", "text", "metadata"?}`, or the equivalent with the keys of TREC topics; other keys are ignored, as in
 * BEIR. Metadata values that are short strings, numbers or booleans become tags; `onSkip` is called for every other
 * value.
 *
 * @throws RecalldError `file_malformed` if there is no id or no text
 */
export function parseQueryObject(line: SourceLine, onSkip: () => void): QueryDraft {
  const value = jsonObject(line);
  const texts = ['text', 'query', 'question', 'title'].filter((key) => value[key] !== undefined);
  const [key, ...others] = texts;
  const text = key === undefined ? null : value[key];
  if (typeof text !== 'string') {
    throw malformed(line, 'has no "text"; write {"_id": "...", "text": "..."}');
  }
  const other = others.find(
    (one) => one !== 'title' && value[one] !== text && value[one] !== '' && value[one] !== null,
  );
  if (other !== undefined) {
    throw malformed(line, `has two texts, under ${quoted(key ?? '')} and ${quoted(other)}; keep only the query text`);
  }
  const tags = Object.fromEntries(shortValues(fieldsOf(value['metadata']) ?? {}, onSkip));
  return { id: idOf(value, line), text, tags };
}

/** Returns the trimmed `_id` of a line of corpus.jsonl. @throws RecalldError `file_malformed` if there is none */
export function parseCorpusId(line: SourceLine): string {
  return idOf(jsonObject(line), line).trim();
}

/**
 * Parses `id<TAB>text`; returns null for a header such as `query_id<TAB>text` on the first line.
 *
 * @throws RecalldError `file_malformed` unless there is exactly one tab
 */
export function parseQueryRow(line: SourceLine): QueryDraft | null {
  const cells = cellsOf(line.text);
  const [id, text] = cells;
  if (cells.length !== 2 || id === undefined || text === undefined) {
    throw malformed(
      line,
      'does not consist of a query id, one tab and the text; convert other topic formats to this format',
    );
  }
  if (line.line === 1 && isHeader(id, text)) return null;
  return { id, text, tags: {} };
}

/**
 * Splits columns. If every column is in CSV quotes, removes all of these quotes; otherwise, removes them only from
 * columns that contain doubled quotes.
 */
function cellsOf(text: string): string[] {
  const cells = text.split('\t');
  const isOfCsv = cells.every((cell) => QUOTED.test(cell));
  return cells.map((cell) =>
    QUOTED.test(cell) && (isOfCsv || cell.slice(1, -1).includes('""')) ? unquoted(cell) : cell,
  );
}

const QUOTED = /^"(?:[^"]|"")*"$/;

const unquoted = (cell: string): string => cell.slice(1, -1).replaceAll('""', '"');

function isHeader(id: string, text: string): boolean {
  const isId = roleOfColumn(id) === 'query_id' || /^_?id$/i.test(id.trim());
  return isId && (roleOfColumn(text) === 'query' || /^(topic|title)$/i.test(text.trim()));
}

function jsonObject(line: SourceLine): Fields {
  const fields = fieldsOf(parseJson(line));
  if (fields === null) throw malformed(line, 'is not a JSON object; write {"_id": "...", "text": "..."}');
  return fields;
}

/** Reads an id. Accepts a JSON number as an id, because qrels files write every id as text, even if it is a number. */
function idOf(value: Fields, line: SourceLine): string {
  const id = value['_id'] ?? value['id'] ?? value['query_id'] ?? value['qid'];
  if (typeof id === 'string') return id;
  if (Number.isSafeInteger(id)) return String(id);
  throw malformed(line, 'has no "_id"; write {"_id": "...", "text": "..."}');
}

function shortValues(metadata: Fields, onSkip: () => void): [string, string][] {
  const short: [string, string][] = [];
  for (const [name, value] of Object.entries(metadata)) {
    if (value === null || value === '') continue;
    const key = name.trim();
    const text =
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? String(value).trim()
        : null;
    const fits =
      text !== null &&
      short.length < goldenLimits.tags &&
      tagKeyProblem(key) === null &&
      tagValueProblem(key, text) === null;
    if (fits) short.push([key, text]);
    else onSkip();
  }
  return short;
}
