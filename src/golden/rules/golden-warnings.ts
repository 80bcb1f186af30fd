import { at, type SourcePlace } from '../../core/text/source-line.ts';

/** Kinds of warnings and their sentences, in the order of the report. `{n}` and `{first}` are placeholders. */
const sentences = [
  [
    'document_empty',
    'Skipped rows without a document: {n} (first: {first}). To mark a query as having no answer, write true in the column no_answer.',
  ],
  ['grade_missing', 'Skipped judgments with an empty grade, which means unjudged: {n} (first: {first}).'],
  ['own_document', 'Skipped judgments whose document id equals the query id: {n} (first: {first}).'],
  ['query_unjudged', 'Skipped queries without a judgment: {n} (first: {first}).'],
  ['judgment_unknown_query', 'Skipped judgments of unknown queries: {n} (first: {first}).'],
  ['judgment_negative', 'Skipped judgments with a negative grade, which means unjudged: {n} (first: {first}).'],
  ['forbidden_unknown_query', 'Skipped forbidden documents of unknown queries: {n} (first: {first}).'],
  [
    'no_answer_judged',
    'Skipped grade-0 judgments of queries that are marked as having no answer: {n} (first: {first}).',
  ],
  ['judgment_repeated', 'Merged judgments that repeat an earlier one: {n} (first: {first}).'],
  [
    'row_joined',
    'Merged rows with the query and tags of an earlier row: {n} (first: {first}). Use --rows-as-queries to treat each row as a query.',
  ],
  ['query_all_zero', 'Queries that always score 0, because their grades are all 0: {n} (first: {first}).'],
  [
    'document_separators',
    'Document cells with a comma or a semicolon that were read as one id: {n} (first: {first}). Use --documents-separator "," to split them.',
  ],
  [
    'value_doubtful',
    'Queries and document ids that another tool may have left empty or changed, such as nan, None, 12.0 and 1.2E+12: {n} (first: {first}).',
  ],
  [
    'apostrophe_removed',
    'Removed the apostrophe that golden export puts before a formula in a cell: {n} (first: {first}).',
  ],
  ['document_absent', 'Judged documents that are not in corpus.jsonl: {n} (first: {first}).'],
  [
    'metadata_skipped',
    'Metadata values that did not become tags because they are not short text: {n} (first: {first}).',
  ],
  ['value_trimmed', 'Queries, ids and tags with surrounding white space, which was removed: {n} (first: {first}).'],
] as const;

type WarningKind = (typeof sentences)[number][0];

/** Kinds of warnings about skipped entries, which are in the file but not in the set. */
const skipped: readonly WarningKind[] = [
  'document_empty',
  'grade_missing',
  'own_document',
  'query_unjudged',
  'judgment_unknown_query',
  'judgment_negative',
  'forbidden_unknown_query',
  'no_answer_judged',
  'judgment_repeated',
];

export class GoldenWarnings {
  readonly #tallies = new Map<WarningKind, { count: number; first: string }>();
  readonly #notes: string[] = [];

  count(kind: WarningKind, place: SourcePlace): void {
    const tally = this.#tallies.get(kind);
    if (tally === undefined) this.set(kind, 1, at(place));
    else tally.count += 1;
  }

  /** Sets the count of a warning whose occurrences the caller has counted. A count of 0 is not reported. */
  set(kind: WarningKind, count: number, first: string): void {
    if (count > 0) this.#tallies.set(kind, { count, first });
  }

  /** Adds a sentence that is reported before the counts. */
  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  skipped() {
    return skipped.flatMap((reason) => {
      const tally = this.#tallies.get(reason);
      return tally === undefined ? [] : [{ reason, ...tally }];
    });
  }

  sentences(): readonly string[] {
    return [...this.#notes, ...this.#counted(() => true)];
  }

  skippedSentences(): readonly string[] {
    return this.#counted((kind) => skipped.includes(kind) && kind !== 'query_unjudged');
  }

  #counted(isWanted: (kind: WarningKind) => boolean): string[] {
    return sentences.flatMap(([kind, sentence]) => {
      const tally = isWanted(kind) ? this.#tallies.get(kind) : undefined;
      if (tally === undefined) return [];
      return [sentence.replace('{n}', String(tally.count)).replace('{first}', () => tally.first)];
    });
  }
}
