/** Recognizes the columns of a table of judgments by their names. */

/** Content of a column. `document_text` names a document by its text; `no_answer` marks a query that no document answers. */
export type ColumnRole =
  | 'query'
  | 'query_id'
  | 'document'
  | 'document_text'
  | 'grade'
  | 'forbidden'
  | 'no_answer'
  | 'iteration';

/** In lower case, without blanks, `_` and `-`. */
const names: Readonly<Record<ColumnRole, readonly string[]>> = {
  query: ['query', 'question', 'text', 'userinput', 'querytext'],
  query_id: ['queryid', 'qid'],
  document: ['document', 'doc', 'docid', 'documentid', 'corpusid'],
  document_text: ['documenttext'],
  grade: [
    'grade',
    'label',
    'rel',
    'relevance',
    'relevant',
    'isrelevant',
    'gain',
    'judgment',
    'judgement',
    'rating',
    'score',
    'relevancescore',
  ],
  forbidden: ['forbidden'],
  no_answer: ['noanswer'],
  iteration: ['iteration', 'iter', 'q0'],
};

const roles = new Map(
  Object.entries(names).flatMap(([role, known]) => known.map((name) => [name, role as ColumnRole] as const)),
);

/** Returns the name in lower case without blanks, `_` and `-`, which is equal for names of the same column. */
export function plainName(name: string): string {
  return name.replaceAll(/[\s_\-\uFEFF]+/g, '').toLowerCase();
}

/** Returns null when the name is ambiguous, as `id` is. */
export function roleOfColumn(name: string): ColumnRole | null {
  return roles.get(plainName(name)) ?? null;
}

/** True if a column has no name of its own; pandas names such a column after its position. */
export function isUnnamed(name: string): boolean {
  return /^(unnamed: ?\d+(\.\d+)*(_level_\d+)?)?$/i.test(name.trim());
}

/** True if the name is one that pandas or people give to row numbers. */
export function isRowNumberName(name: string): boolean {
  return /^(index|level_\d+|row|row[ _]?(number|no|nr|num|id|index|idx|names?)|idx|#|no\.?|nr\.?)$/i.test(name.trim());
}

/** How a column of a file was interpreted. */
export interface ColumnReading {
  /** Its name in the file, or its number from 1 when it has no name. */
  readonly column: string;
  readonly readAs: ColumnRole | 'judgments' | 'tag' | 'rater' | 'ignored';
  /** Why, when the name does not explain it. */
  readonly reason: string | null;
}

/** Formats a reading for people: `label: read as grade`. */
export function readingText({ column, readAs, reason }: ColumnReading): string {
  const as = readAs === 'ignored' ? 'ignored' : `read as ${readAs.replaceAll('_', ' ')}`;
  return `${/^\d+$/.test(column) ? `column ${column}` : column}: ${as}${reason === null ? '' : ` (${reason})`}`;
}
