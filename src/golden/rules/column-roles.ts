/**
 * Role of a column. `document_text` identifies a document by its text; `no_answer` marks a query that no document
 * answers.
 */
export type ColumnRole =
  | 'query'
  | 'query_id'
  | 'document'
  | 'document_text'
  | 'grade'
  | 'forbidden'
  | 'no_answer'
  | 'iteration';

/** Column names by role, in lower case, without spaces, `_` or `-`. */
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

/** Returns the name in lower case without spaces, `_` or `-`, so that variants of a column name are equal. */
export function plainName(name: string): string {
  return name.replaceAll(/[\s_\-\uFEFF]+/g, '').toLowerCase();
}

/** Returns null for an unknown name, and for an ambiguous name such as `id`. */
export function roleOfColumn(name: string): ColumnRole | null {
  return roles.get(plainName(name)) ?? null;
}

/** True if a column has no name, or a name that pandas derived from its position. */
export function isUnnamed(name: string): boolean {
  return /^(unnamed: ?\d+(\.\d+)*(_level_\d+)?)?$/i.test(name.trim());
}

/** True if pandas or people often use this name for a column of row numbers. */
export function isRowNumberName(name: string): boolean {
  return /^(index|level_\d+|row|row[ _]?(number|no|nr|num|id|index|idx|names?)|idx|#|no\.?|nr\.?)$/i.test(name.trim());
}

export interface ColumnReading {
  /** Name of the column in the file, or its number from 1 if it has no name. */
  readonly column: string;
  readonly readAs: ColumnRole | 'judgments' | 'tag' | 'rater' | 'ignored';
  /** Reason for the column's role; null if the column's name explains the role. */
  readonly reason: string | null;
}

/** Describes how a column was read, as in `label: read as grade`. */
export function readingText({ column, readAs, reason }: ColumnReading): string {
  const as = readAs === 'ignored' ? 'ignored' : `read as ${readAs.replaceAll('_', ' ')}`;
  return `${/^\d+$/.test(column) ? `column ${column}` : column}: ${as}${reason === null ? '' : ` (${reason})`}`;
}
