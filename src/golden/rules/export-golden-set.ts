/** Writes golden sets in the supported file formats. Importing the file recreates the same set. */
import { RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { quoted } from '../../core/text/source-line.ts';
import { plainName } from './column-roles.ts';
import { type GoldenFormat, goldenLimits } from './golden-set.ts';
import { exportedColumns, guardCell } from './spreadsheet-cell.ts';
import { tableRoleOf } from './table-columns.ts';

const notTrec = 'use --format jsonl, beir or csv';

/** Writes TREC: queries.tsv (id, tab, text) and qrels.txt (query, 0, document, grade). */
function exportTrec(queries: readonly GoldenQuery[]): ExportFile[] {
  refuse('TREC', queries, unjudgedProblem);
  refuse('TREC', queries, trecProblem);
  const rows = queries.map(({ id, text }) => `${id}\t${text}`);
  // Writes a header if the id of the first query looks like a column name, because an import would otherwise read that
  // query as the header.
  const header = readsLikeHeader(queries[0]) ? ['query_id\ttext'] : [];
  const judgments = queries.flatMap(({ id, judgments: judged }) =>
    judged.map(({ documentId, grade }) => `${id}\t0\t${documentId}\t${grade}`),
  );
  return [
    { path: 'queries.tsv', text: joinLines([...header, ...rows]) },
    { path: 'qrels.txt', text: joinLines(judgments) },
  ];
}

function trecProblem({ id, text, tags, judgments }: GoldenQuery): Problem {
  const [tag] = Object.keys(tags);
  if (tag !== undefined) return [`it has the tag ${JSON.stringify(tag)}`, `${notTrec}, or add --drop-tags`];
  if (/[\t\n]/.test(text)) return ['its text has a tab or a line break', notTrec];
  if (id.startsWith('#')) return ['its id starts with #, which begins a comment', notTrec];
  const spaced = [id, ...judgments.map(({ documentId }) => documentId)].find((name) => name.includes(' '));
  return spaced === undefined ? null : [`the id ${JSON.stringify(spaced)} has a space, which ends a column`, notTrec];
}

/** Finds forbidden documents, unanswerable queries and steps, which TREC and BEIR cannot express. */
function unjudgedProblem({ forbidden = [], noAnswer, steps }: GoldenQuery): Problem {
  if (forbidden.length > 0) return ['it has forbidden documents', 'use --format jsonl or csv'];
  if (noAnswer === true) return ['it is marked no_answer', 'use --format jsonl or csv'];
  return steps === undefined ? null : ['it has steps', 'use --format jsonl'];
}

/**
 * Content that a format would lose or change, and another way to export the query; null if the format can express it.
 */
type Problem = readonly [problem: string, fix: string] | null;

/** @throws RecalldError export_impossible for the first query with a problem */
function refuse(format: string, queries: readonly GoldenQuery[], problemOf: (query: GoldenQuery) => Problem): void {
  for (const query of queries) {
    const problem = problemOf(query);
    if (problem !== null) throw cannotHold(format, query.id, ...problem);
  }
}

function readsLikeHeader(query: GoldenQuery | undefined): boolean {
  return query !== undefined && /^_?q(uery)?[-_ ]?id$|^_?id$/i.test(query.id);
}

const notCsv = 'use --format jsonl or beir';

/**
 * Writes CSV (RFC 4180): a row per judgment, per forbidden document and per unanswerable query, and a column per tag.
 * Every cell is in double quotes, and no cell is a spreadsheet formula.
 *
 * @throws RecalldError export_impossible for a tag named like a column of the format, for more tags than a table may
 *   have, for an id that looks like a list, and for a text with CRLF, which would be read as LF
 */
function exportCsv(queries: readonly GoldenQuery[]): ExportFile[] {
  const tags = [...new Set(queries.flatMap((query) => Object.keys(query.tags)))];
  refuse('CSV', queries, (query) => csvProblem(query, tags.length));
  const marks = [
    ...(queries.some(({ forbidden = [] }) => forbidden.length > 0) ? ['forbidden'] : []),
    ...(queries.some(({ noAnswer }) => noAnswer === true) ? ['no_answer'] : []),
  ];
  const rows = queries.flatMap(({ id, text, tags: own, judgments, forbidden = [], noAnswer }) => {
    const tagged = tags.map((tag) => (Object.hasOwn(own, tag) ? (own[tag] ?? '') : ''));
    const rowOf = (document: string, grade: string, marked?: string): string =>
      csvRow([id, text, document, grade, ...marks.map((mark) => (mark === marked ? 'true' : '')), ...tagged]);
    return [
      ...judgments.map(({ documentId, grade }) => rowOf(documentId, String(grade))),
      ...forbidden.map((pattern) => rowOf(pattern, '', 'forbidden')),
      ...(noAnswer === true ? [rowOf('', '', 'no_answer')] : []),
    ];
  });
  const columns = [...exportedColumns, ...marks, ...tags];
  return [{ path: null, text: joinLines([csvRow(columns), ...rows]) }];
}

function csvProblem({ steps, text, tags, judgments }: GoldenQuery, tagColumns: number): Problem {
  if (steps !== undefined) return ['it has steps', 'use --format jsonl'];
  const list = judgments.find(({ documentId }) => /^\[.*\]$/s.test(documentId));
  if (list !== undefined) return [`the document id ${quoted(list.documentId)} looks like a list`, notCsv];
  if (text.includes('\r\n')) return ['its text has a CRLF, which would be read as LF', notCsv];
  const taken = Object.keys(tags).find((tag) => tableRoleOf(tag) !== null || plainName(tag) === 'id');
  if (taken !== undefined) return [`its tag ${JSON.stringify(taken)} has the name of a column in this format`, notCsv];
  const { tags: max } = goldenLimits;
  return tagColumns <= max
    ? null
    : [`the set has ${tagColumns} different tags, but a table may have at most ${max}`, notCsv];
}

function csvRow(cells: readonly string[]): string {
  return cells.map((cell) => `"${guardCell(cell).replaceAll('"', '""')}"`).join(',');
}

/** Maximum number of characters in a line, below the reader's limit in bytes even if all characters are multi-byte. */
const MAX_LINE_LENGTH = 4 * 1024 * 1024;

/**
 * Writes JSONL, one query with its tags and judgments per line; this format can express everything that can be
 * imported.
 */
function exportJsonLines(queries: readonly GoldenQuery[]): ExportFile[] {
  const lines = queries.map((query) =>
    jsonLine('JSONL', query, {
      id: query.id,
      text: query.text,
      ...(query.steps === undefined ? {} : { steps: query.steps }),
      ...(Object.keys(query.tags).length === 0 ? {} : { tags: query.tags }),
      judgments: query.judgments.map(({ documentId, grade }) => ({ document_id: documentId, grade })),
      ...(query.forbidden === undefined ? {} : { forbidden: query.forbidden }),
      ...(query.noAnswer === undefined ? {} : { no_answer: true }),
    }),
  );
  return [{ path: null, text: joinLines(lines) }];
}

/** @throws RecalldError export_impossible for content that the JSON lines reader rejects */
function jsonLine(format: string, query: GoldenQuery, value: unknown): string {
  if (Object.hasOwn(query.tags, '__proto__')) {
    throw cannotHold(format, query.id, 'its tag "__proto__" is lost in JSON', 'use --format csv');
  }
  const line = JSON.stringify(value);
  if (line.length <= MAX_LINE_LENGTH) return line;
  const problem = `its line of ${line.length} characters exceeds the limit of ${MAX_LINE_LENGTH}`;
  throw cannotHold(format, query.id, problem, 'use --format csv or beir');
}

export interface ExportFile {
  /** Path relative to the export folder; null if the export is a single file. */
  readonly path: string | null;
  readonly text: string;
}

/** Returns the error for content that the format would lose or change; `problem` says why. */
function cannotHold(format: string, queryId: string, problem: string, fix: string): RecalldError {
  return new RecalldError(
    'export_impossible',
    `${format} cannot express the query ${quoted(queryId)}: ${problem}; ${fix}.`,
  );
}

function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** Writes BEIR: queries.jsonl with the tags as metadata, and qrels/test.tsv. recalld has no corpus to export. */
function exportBeir(queries: readonly GoldenQuery[]): ExportFile[] {
  refuse('BEIR', queries, unjudgedProblem);
  const lines = queries.map((query) =>
    jsonLine('BEIR', query, {
      _id: query.id,
      text: query.text,
      ...(Object.keys(query.tags).length === 0 ? {} : { metadata: query.tags }),
    }),
  );
  const judgments = queries.flatMap(({ id, judgments: judged }) =>
    judged.map(({ documentId, grade }) => `${tabCell(id)}\t${tabCell(documentId)}\t${grade}`),
  );
  return [
    { path: 'queries.jsonl', text: joinLines(lines) },
    { path: 'qrels/test.tsv', text: joinLines(['query-id\tcorpus-id\tscore', ...judgments]) },
  ];
}

/** Quotes an id that begins with a double quote, because BEIR reads judgments with Python's csv module. */
function tabCell(id: string): string {
  return id.startsWith('"') ? `"${id.replaceAll('"', '""')}"` : id;
}

/** Writes one query text per line. The format cannot contain tags, judgments or line breaks. */
function exportQuestions(queries: readonly GoldenQuery[]): ExportFile[] {
  refuse('A list of queries', queries, ({ steps, text, tags, judgments, forbidden = [], noAnswer }) => {
    const problems = [
      steps !== undefined && 'it has steps',
      judgments.length + forbidden.length > 0 && 'it has judgments',
      noAnswer === true && 'it is marked no_answer',
      Object.keys(tags).length > 0 && 'it has tags',
      /[\r\n]/.test(text) && 'its text has a line break',
    ];
    const problem = problems.find((one) => one !== false);
    return problem === undefined ? null : [problem, 'use --format jsonl'];
  });
  return [{ path: null, text: joinLines(queries.map(({ text }) => text)) }];
}

const writers: Readonly<Record<Exclude<GoldenFormat, 'questions'>, (queries: readonly GoldenQuery[]) => ExportFile[]>> =
  {
    beir: exportBeir,
    trec: exportTrec,
    csv: exportCsv,
    jsonl: exportJsonLines,
  };

/**
 * Exports a golden set. Importing the result recreates the same ids, texts, tags and grades in the same order. Content
 * that a format cannot express is an error, never a silent change.
 *
 * @throws RecalldError export_impossible, and golden_set_empty for a set without queries
 */
export function exportGoldenSet(queries: readonly GoldenQuery[], format: GoldenFormat): ExportFile[] {
  if (queries.length === 0) {
    throw new RecalldError('golden_set_empty', 'The golden set has no queries, so there is nothing to export.');
  }
  if (format === 'questions') return exportQuestions(queries);
  const unjudged = queries.find(
    ({ judgments, forbidden = [], noAnswer }) => judgments.length + forbidden.length === 0 && noAnswer !== true,
  );
  if (unjudged !== undefined) {
    throw new RecalldError(
      'export_impossible',
      `The query ${quoted(unjudged.id)} has no judgment, so the format ${format} would lose it. Use --format questions for a set without judgments.`,
    );
  }
  return writers[format](queries);
}
