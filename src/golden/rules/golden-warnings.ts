/** What an import left out, merged or found odd, counted by kind. */
import { at, type SourcePlace } from '../../core/text/source-line.ts';
import type { ImportSummary } from './golden-set.ts';

/** In the order in which they are told. `{n}` and `{first}` are filled in. */
const sentences = [
  [
    'document_empty',
    'Rows left out because they name no document: {n} (first: {first}); a query that nothing answers has true under no_answer.',
  ],
  ['grade_missing', 'Judgments left out because their grade is empty, which means unjudged: {n} (first: {first}).'],
  ['own_document', 'Judgments left out because their document has the id of their query: {n} (first: {first}).'],
  ['query_unjudged', 'Queries left out because they have no judgment: {n} (first: {first}).'],
  ['judgment_unknown_query', 'Judgments left out because their query is not among the queries: {n} (first: {first}).'],
  [
    'judgment_negative',
    'Judgments left out because their grade is negative, which means unjudged: {n} (first: {first}).',
  ],
  [
    'forbidden_unknown_query',
    'Forbidden documents left out because their query is not among the queries: {n} (first: {first}).',
  ],
  [
    'no_answer_judged',
    'Judgments left out because their query has no answer, so that every grade is 0: {n} (first: {first}).',
  ],
  ['judgment_repeated', 'Judgments that repeat an earlier one and were merged with it: {n} (first: {first}).'],
  [
    'row_joined',
    'Rows joined to an earlier row with the same question and tags: {n} (first: {first}); --rows-as-queries keeps each row a query.',
  ],
  ['query_all_zero', 'Queries whose every grade is 0, so that they always score 0: {n} (first: {first}).'],
  [
    'document_separators',
    'Document cells that hold a comma or a semicolon and were read as one id: {n} (first: {first}); --documents-separator "," reads several.',
  ],
  [
    'value_doubtful',
    'Queries and document ids that another program may have left empty or changed, such as nan, None, 12.0 and 1.2E+12: {n} (first: {first}).',
  ],
  [
    'apostrophe_removed',
    'Cells without the apostrophe that golden export writes before a sign of a formula: {n} (first: {first}).',
  ],
  ['document_absent', 'Judged documents that are not in corpus.jsonl: {n} (first: {first}).'],
  [
    'metadata_skipped',
    'Metadata values that did not become tags because they are not short text: {n} (first: {first}).',
  ],
  ['value_trimmed', 'Questions, ids and tags with white space around them, which was removed: {n} (first: {first}).'],
] as const;

type WarningKind = (typeof sentences)[number][0];

/** What of the file is not in the set. */
const leftOut: readonly WarningKind[] = [
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

  /** Counts one more of its kind; the first place is kept. */
  count(kind: WarningKind, place: SourcePlace): void {
    const tally = this.#tallies.get(kind);
    if (tally === undefined) this.set(kind, 1, at(place));
    else tally.count += 1;
  }

  /** States a count that was taken elsewhere; 0 is not told. */
  set(kind: WarningKind, count: number, first: string): void {
    if (count > 0) this.#tallies.set(kind, { count, first });
  }

  /** Adds a sentence of its own, told before the counts. */
  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  leftOut(): ImportSummary['leftOut'] {
    return leftOut.flatMap((reason) => {
      const tally = this.#tallies.get(reason);
      return tally === undefined ? [] : [{ reason, ...tally }];
    });
  }

  sentences(): readonly string[] {
    return [...this.#notes, ...this.#counted(() => true)];
  }

  /** Those of `leftOut`. */
  leftOutSentences(): readonly string[] {
    return this.#counted((kind) => leftOut.includes(kind) && kind !== 'query_unjudged');
  }

  #counted(isWanted: (kind: WarningKind) => boolean): string[] {
    return sentences.flatMap(([kind, sentence]) => {
      const tally = isWanted(kind) ? this.#tallies.get(kind) : undefined;
      if (tally === undefined) return [];
      return [sentence.replace('{n}', String(tally.count)).replace('{first}', () => tally.first)];
    });
  }
}
