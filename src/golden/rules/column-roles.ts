/** What the columns of a table of judgments are called, and what each was read as. */

/** What a column holds. `document_text` names a document by its text; `no_answer` marks a query that nothing answers. */
export type ColumnRole =
  | 'query'
  | 'query_id'
  | 'document'
  | 'document_text'
  | 'grade'
  | 'forbidden'
  | 'no_answer'
  | 'iteration';

/** Without blanks, `_` and `-`, in small letters. */
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

/** The name in small letters without blanks, `_` and `-`: equal for names that mean the same column. */
export function plainName(name: string): string {
  return name.replaceAll(/[\s_\-\uFEFF]+/g, '').toLowerCase();
}

/** What a column of that name holds; null where the name does not say, as `id` does not. */
export function roleOfColumn(name: string): ColumnRole | null {
  return roles.get(plainName(name)) ?? null;
}

/** Whether a column has no name of its own; pandas calls such a column after its place. */
export function isUnnamed(name: string): boolean {
  return /^(unnamed: ?\d+(\.\d+)*(_level_\d+)?)?$/i.test(name.trim());
}

/** Whether a column is called as row numbers are, by pandas and by people. */
export function isRowNumberName(name: string): boolean {
  return /^(index|level_\d+|row|row[ _]?(number|no|nr|num|id|index|idx|names?)|idx|#|no\.?|nr\.?)$/i.test(name.trim());
}

/** How one column of a file was read. */
export interface ColumnReading {
  /** Its name in the file, or its number from 1 where it has none. */
  readonly column: string;
  readonly readAs: ColumnRole | 'judgments' | 'tag' | 'rater' | 'ignored';
  /** Why, where the name does not say it. */
  readonly reason: string | null;
}

/** `label: read as grade`, for people. */
export function readingText({ column, readAs, reason }: ColumnReading): string {
  const as = readAs === 'ignored' ? 'ignored' : `read as ${readAs.replaceAll('_', ' ')}`;
  return `${/^\d+$/.test(column) ? `column ${column}` : column}: ${as}${reason === null ? '' : ` (${reason})`}`;
}
