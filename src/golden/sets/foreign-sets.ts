/** Judgments in the files of other programs: Quepid, Ragas and OpenSearch's Search Relevance Workbench. */
import { containerLines } from '../../text/json.ts';
import { malformed, parseJson, type SourceLine, type SourcePlace } from '../../text/source-line.ts';
import {
  addQuepidPair,
  addRagasRow,
  addRated,
  addUbiRatings,
  fieldsOf,
  judgedQueriesOf,
  type Placed,
  QuestionsByText,
  type RatedDocument,
} from '../rules/foreign-judgments.ts';
import type { ForeignFormat, GoldenOrigin } from '../rules/golden-set.ts';
import type { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import { csvRows } from './source-layout.ts';

type Lines = AsyncIterable<readonly SourceLine[]>;

/**
 * Adds what the file holds.
 *
 * @returns who asks its questions
 * @throws RecalldError file_unreadable, file_malformed
 */
export async function readForeign(
  format: ForeignFormat,
  lines: Lines,
  path: string,
  builder: GoldenSetBuilder,
): Promise<GoldenOrigin> {
  const questions = new QuestionsByText(builder);
  const isTable = /\.csv$/i.test(path);
  switch (format) {
    case 'quepid':
      if (isTable) await readQuepidTable(lines, questions, builder);
      else for (const pair of await quepidPairs(lines, path)) addQuepidPair(pair, questions, builder);
      return 'human';
    case 'ragas': {
      let isGenerated = false;
      for await (const row of isTable ? tableRows(lines) : jsonRows(lines, path)) {
        isGenerated = addRagasRow(row, questions, builder) || isGenerated;
      }
      return isGenerated ? 'generated' : 'human';
    }
    case 'ubi':
      addUbiRatings(await ubiRatings(lines, path), questions, builder);
      return 'human';
  }
}

/** `query,docid` and a column for each rater. */
async function readQuepidTable(lines: Lines, questions: QuestionsByText, builder: GoldenSetBuilder): Promise<void> {
  let isHeader = true;
  for await (const rows of csvRows(lines)) {
    for (const { cells, ...place } of rows) {
      const [text = '', document = '', ...ratings] = cells;
      if (!isHeader) addRated(questions, builder, { text, document, ratings }, place);
      else if (text.trim() !== 'query' || document.trim() !== 'docid') {
        throw malformed(place, 'is no header of Quepid, which is query, docid and a column for each rater');
      }
      isHeader = false;
    }
  }
}

async function quepidPairs(lines: Lines, path: string): Promise<Placed[]> {
  const { value, placed } = await wholeJson(lines, path);
  const pairs = fieldsOf(value)?.['query_doc_pairs'];
  if (Array.isArray(pairs)) return pairs.map(placed);
  throw malformed({ file: path, line: 1 }, 'has no query_doc_pairs; export the book of Quepid with its pairs');
}

async function ubiRatings(lines: Lines, path: string): Promise<RatedDocument[]> {
  const { value, placed } = await wholeJson(lines, path);
  const entries = judgedQueriesOf(value);
  if (entries === null) {
    throw malformed(
      { file: path, line: 1 },
      'is not one list of judgments, which has judgmentRatings; save the answer of GET _plugins/_search_relevance/judgments/ID',
    );
  }
  return entries.flatMap((entry) => {
    const { query, ratings } = fieldsOf(entry) ?? {};
    if (typeof query === 'string' && Array.isArray(ratings)) {
      return ratings.map((rating) => ({ text: query, ...placed(rating) }));
    }
    throw malformed(placed(entry).place, 'is no judged query, which has "query" and a list of "ratings"');
  });
}

async function* tableRows(lines: Lines): AsyncGenerator<Placed> {
  let names: readonly string[] | null = null;
  for await (const rows of csvRows(lines)) {
    for (const { cells, ...place } of rows) {
      if (names === null) names = cells.map((name) => name.trim());
      else yield { value: Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])), place };
    }
  }
}

/** Objects on lines of their own, or in one list. */
async function* jsonRows(lines: Lines, path: string): AsyncGenerator<Placed> {
  if (/\.json$/i.test(path)) {
    const { value, placed } = await wholeJson(lines, path);
    if (!Array.isArray(value)) throw malformed({ file: path, line: 1 }, 'is no list of rows; save it as JSON lines');
    yield* value.map(placed);
    return;
  }
  for await (const batch of lines) {
    for (const line of batch) if (line.text.trim() !== '') yield { value: parseJson(line), place: line };
  }
}

interface WholeJson {
  readonly value: unknown;
  /** A part of it, with the line in which it begins. */
  readonly placed: (part: unknown) => Placed;
}

async function wholeJson(lines: Lines, path: string): Promise<WholeJson> {
  const texts: string[] = [];
  for await (const batch of lines) for (const { text } of batch) texts.push(text);
  const text = texts.join('\n');
  let value: unknown;
  try {
    value = JSON.parse(text);
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
