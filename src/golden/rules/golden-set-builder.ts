/** Collects, checks and merges queries and judgments from any format. */
import { RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { at, malformed, quoted, type SourcePlace } from '../../core/text/source-line.ts';
import type { ColumnReading } from './column-roles.ts';
import { refuseContradictions } from './forbidden-results.ts';
import {
  forbiddenProblem,
  type GoldenLine,
  goldenLimits,
  gradeProblem,
  idProblem,
  type QueryDraft,
  type TaggedText,
  tagKeyProblem,
  tagValueProblem,
  textProblem,
} from './golden-set.ts';
import { GoldenWarnings } from './golden-warnings.ts';
import { isMissing } from './grade-text.ts';
import { describeIdDifference, differenceInWords, shownIds } from './id-mismatch.ts';
import { trimBlanks } from './qrels-form.ts';

/**
 * How to treat a query that the set already has: `reject` fails, `join` adds the judgments to the existing query, and
 * `separate` adds another query with a numbered id.
 */
export type RepeatPolicy = 'reject' | 'join' | 'separate';

interface Entry extends Required<TaggedText> {
  readonly place: SourcePlace;
  /** Grades, keyed by document id. Judgments are not stored as objects, because a set may have a million of them. */
  readonly judgments: Map<string, number>;
  /** Places of the judgments that are not on the same line as their query. */
  judgedAt: Map<string, SourcePlace> | null;
  /** For each forbidden document, the first place that names it. */
  forbidden: Map<string, SourcePlace> | null;
  /** Place in the file that marks the query as unanswerable; null if none does. */
  noAnswer: SourcePlace | null;
  repeats: number;
}

export type FinishedSet = ReturnType<GoldenSetBuilder['finish']>;

export type ImportSummary = FinishedSet['summary'];

/** Number of queries and judgments, counted together, after which `finishInSteps` yields to its caller. */
const STEP = 2000;

/** Maximum number of example ids: enough to show how the query ids in judgments and in queries differ. */
const SOME_IDS = 200;

/** Matches a whole number to which a tool added `.0`, or that a spreadsheet rounded. */
const CHANGED_NUMBER = /^\d+\.0$|^\d([.,]\d+)?e\+\d+$/i;
const LONGEST_DOUBTFUL = 24;

/**
 * Matches an id that recalld derived for a query without an id. Messages show the text of the query instead of this id.
 */
const DERIVED_ID = /^q-[0-9a-f]{16}$/;

export class GoldenSetBuilder {
  readonly warnings = new GoldenWarnings();
  columns: readonly ColumnReading[] = [];
  readonly #skipOwnDocument: boolean;
  readonly #digest: (text: string) => string;
  readonly #entries = new Map<string, Entry>();
  /**
   * Query ids that occur in judgments but belong to no query. Messages describe how they differ from the ids of
   * queries.
   */
  readonly #unknownQueries = new Set<string>();

  /** `digest` hashes text to at least 16 hex digits, which are used to build ids for queries without an id. */
  constructor(digest: (text: string) => string, skipOwnDocument = false) {
    this.#digest = digest;
    this.#skipOwnDocument = skipOwnDocument;
  }

  /**
   * Adds a query and returns the id for its judgments. A query without an id gets `q-` and 16 digits of the hash of its
   * text, steps and tags, so that its id stays the same in every version.
   *
   * @throws RecalldError `file_malformed` for an invalid id, text or tag, or for a query that repeats another one in a
   *   way that `repeat` does not allow
   */
  addQuery(draft: QueryDraft, place: SourcePlace, repeat: RepeatPolicy): string {
    const query = cleanQuery(draft, place, () => this.warnings.count('value_trimmed', place));
    const id = query.id ?? `q-${this.#digest(queryKey(query)).slice(0, 16)}`;
    const known = this.#entries.get(id);
    this.#countDoubtful(query.text, place);
    if (known === undefined) return this.#insert(id, query, place);
    if (repeat === 'reject') {
      throw malformed(
        place,
        query.id === null
          ? `repeats the query of ${at(known.place)}; put all judgments of this query on one line, or give each query an id`
          : `repeats the query id ${quoted(id)} of ${at(known.place)}; give each query its own id`,
      );
    }
    if (!isSameQuery(known, query)) {
      throw malformed(
        place,
        `reuses the query id ${quoted(id)} of ${at(known.place)} with different text, steps or tags; use two ids`,
      );
    }
    if (repeat === 'join') {
      this.warnings.count('row_joined', place);
      return id;
    }
    known.repeats += 1;
    const numbered = `${id}#${known.repeats + 1}`;
    const taken = this.#entries.get(numbered);
    if (taken === undefined) return this.#insert(numbered, query, place);
    throw malformed(place, `needs the query id ${quoted(numbered)}, which ${at(taken.place)} uses; rename that id`);
  }

  /**
   * Adds a judgment. Negative grades and judgments of unknown queries are counted and skipped; a repeated judgment
   * counts once.
   *
   * @throws RecalldError `file_malformed` for an invalid id or grade, or a document with two grades
   */
  addJudgment(queryId: string, documentId: string, grade: number, place: SourcePlace): void {
    const query = this.#trimmedId('query id', queryId, place);
    const document = this.#trimmedId('document id', documentId, place);
    const problem = gradeProblem(grade);
    if (problem !== null) throw malformed(place, problem);
    const entry = this.#entries.get(query);
    if (entry === undefined) {
      if (this.#unknownQueries.size < SOME_IDS) this.#unknownQueries.add(query);
      return this.warnings.count('judgment_unknown_query', place);
    }
    if (grade < 0) return this.warnings.count('judgment_negative', place);
    if (this.#skipOwnDocument && document === query) return this.warnings.count('own_document', place);
    const known = entry.judgments.get(document);
    if (known === undefined) {
      entry.judgments.set(document, grade);
      this.#countDoubtful(document, place);
      if (place !== entry.place) (entry.judgedAt ??= new Map()).set(document, place);
      return;
    }
    if (known === grade) return this.warnings.count('judgment_repeated', place);
    throw malformed(
      place,
      `gives the document ${quoted(document)} the grade ${grade} for the query ${quoted(DERIVED_ID.test(query) ? entry.text : query)}, ` +
        `but ${at(entry.judgedAt?.get(document) ?? entry.place)} gives ${known}; keep one of the two`,
    );
  }

  /**
   * Adds a document that must never be returned for a query: its id, or an id prefix followed by `*`. A repeated
   * pattern counts once.
   *
   * @throws RecalldError `file_malformed` for an invalid id, or too many patterns for one query
   */
  addForbidden(queryId: string, pattern: string, place: SourcePlace): void {
    const query = this.#trimmedId('query id', queryId, place);
    const trimmed = pattern.trim();
    if (trimmed !== pattern) this.warnings.count('value_trimmed', place);
    const problem = forbiddenProblem(trimmed);
    if (problem !== null) throw malformed(place, problem);
    const entry = this.#entries.get(query);
    if (entry === undefined) return this.warnings.count('forbidden_unknown_query', place);
    entry.forbidden ??= new Map();
    if (!entry.forbidden.has(trimmed)) entry.forbidden.set(trimmed, place);
    const max = goldenLimits.forbidden;
    if (entry.forbidden.size > max)
      throw malformed(
        place,
        `has more than ${max} forbidden documents for one query; forbid an id prefix followed by * instead`,
      );
  }

  /** Marks a query as unanswerable: no document in the store answers it. */
  addNoAnswer(queryId: string, place: SourcePlace): void {
    const entry = this.#entries.get(queryId);
    if (entry !== undefined) entry.noAnswer ??= place;
  }

  /** Adds a new query with its judgments. @throws the errors of `addQuery`, `addJudgment` and `addForbidden` */
  addLine(line: GoldenLine, place: SourcePlace): void {
    const id = this.addQuery(line, place, 'reject');
    for (const { documentId, grade } of line.judgments) this.addJudgment(id, documentId, grade, place);
    for (const pattern of line.forbidden) this.addForbidden(id, pattern, place);
    if (line.noAnswer) this.addNoAnswer(id, place);
  }

  judgedDocuments(): Set<string> {
    const documents = new Set<string>();
    for (const entry of this.#entries.values()) {
      for (const document of entry.judgments.keys()) documents.add(document);
    }
    return documents;
  }

  /**
   * Returns the queries that have a judgment or a forbidden document, or are unanswerable, in insertion order.
   *
   * @param source name of the file or folder, for error messages
   * @param isUnjudged true to return queries without judgments too
   * @throws RecalldError `golden_set_empty` if there are no queries, no judgments, or only judgments of other queries;
   *   `file_malformed` if a relevant document is forbidden, or if an unanswerable query has a relevant document
   */
  finish(source: string, isUnjudged = false) {
    const steps = this.finishInSteps(source, isUnjudged);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  /** Like `finish`, but in steps, between which the caller can yield to other work. */
  *finishInSteps(source: string, isUnjudged = false) {
    const queries: GoldenQuery[] = [];
    let judgmentCount = 0;
    let sinceStep = 0;
    let entries = 0;
    const ids: string[] = [];
    const summary = new SetSummary();
    for (const [id, entry] of this.#entries) {
      const { text, steps, tags, place, judgments, forbidden, noAnswer } = entry;
      // Frees the memory of finished entries.
      this.#entries.delete(id);
      entries += 1;
      sinceStep += 1 + judgments.size;
      if (sinceStep > STEP) {
        sinceStep = 0;
        yield;
      }
      if (judgments.size === 0 && forbidden === null && noAnswer === null && !isUnjudged) {
        this.warnings.count('query_unjudged', place);
        if (ids.length < SOME_IDS) ids.push(id);
        continue;
      }
      const list = noAnswer === null ? Array.from(judgments, ([documentId, grade]) => ({ documentId, grade })) : [];
      if (noAnswer !== null) this.#skipJudgments(entry, noAnswer);
      if (list.length > 0 && list.every(({ grade }) => grade === 0)) this.warnings.count('query_all_zero', place);
      const query: GoldenQuery = { id, text, ...(steps.length === 0 ? {} : { steps }), tags, judgments: list };
      if (forbidden !== null) refuseContradictions(query, forbidden);
      queries.push({
        ...query,
        ...(forbidden === null ? {} : { forbidden: [...forbidden.keys()] }),
        ...(noAnswer === null ? {} : { noAnswer: true }),
      });
      judgmentCount += list.length;
      summary.add(query);
    }
    if (queries.length === 0) {
      const problem =
        entries === 0
          ? 'has no queries; a golden set needs at least one query with a judged document.'
          : `has no judgment for any of its queries${this.#whyUnjudged(ids)}`;
      throw new RecalldError('golden_set_empty', `${source} ${problem}`);
    }
    yield;
    return {
      queries,
      warnings: this.warnings.sentences(),
      counts: { queries: queries.length, judgments: judgmentCount },
      summary: {
        ...summary.counts(),
        /** How each column was read, in file order; empty for formats without columns. */
        columns: this.columns,
        /** Number of skipped rows, queries and judgments by reason. */
        skipped: this.warnings.skipped(),
      },
    };
  }

  /** Counts the skipped judgments of an unanswerable query. @throws RecalldError file_malformed for a grade above 0 */
  #skipJudgments(entry: Entry, noAnswer: SourcePlace): void {
    for (const [documentId, grade] of entry.judgments) {
      const place = entry.judgedAt?.get(documentId) ?? entry.place;
      if (grade > 0)
        throw malformed(
          noAnswer,
          `says that the query has no answer, but ${at(place)} judges ${quoted(documentId)} relevant to it; keep only one`,
        );
      this.warnings.count('no_answer_judged', place);
    }
  }

  /**
   * Describes how the query ids of judgments differ from the ids of queries or, if all ids match, why rows were
   * skipped.
   */
  #whyUnjudged(queries: readonly string[]): string {
    const unknown = [...this.#unknownQueries];
    const reasons = this.warnings.skippedSentences();
    if (unknown.length === 0) return reasons.length === 0 ? '; judge at least one document.' : `. ${reasons.join(' ')}`;
    const difference = describeIdDifference(unknown, queries);
    const [judged, asked] = shownIds(difference.judged, difference.returned);
    return (
      `: judgments have the query id ${judged}, but queries have ${asked}; they ${differenceInWords(difference.differences)}. ` +
      'Use the same query ids for both.'
    );
  }

  /** Counts texts and ids that another tool may have changed, such as `1.0` or `nan`. */
  #countDoubtful(value: string, place: SourcePlace): void {
    if (value.length <= LONGEST_DOUBTFUL && (isMissing(value) || CHANGED_NUMBER.test(value))) {
      this.warnings.count('value_doubtful', place);
    }
  }

  #insert(id: string, query: TaggedText, place: SourcePlace): string {
    const { text, steps = [], tags } = query;
    this.#entries.set(id, {
      text,
      steps,
      tags,
      place,
      judgments: new Map(),
      judgedAt: null,
      forbidden: null,
      noAnswer: null,
      repeats: 0,
    });
    return id;
  }

  #trimmedId(what: string, id: string, place: SourcePlace): string {
    const trimmed = trimBlanks(id);
    if (trimmed !== id) this.warnings.count('value_trimmed', place);
    const problem = idProblem(what, trimmed);
    if (problem !== null) throw malformed(place, problem);
    return trimmed;
  }
}

class SetSummary {
  readonly #grades = new Map<number, number>();
  readonly #tags = new Map<string, number>();
  readonly #documents = new Set<string>();

  add({ tags, judgments }: GoldenQuery): void {
    for (const key of Object.keys(tags)) this.#tags.set(key, (this.#tags.get(key) ?? 0) + 1);
    for (const { documentId, grade } of judgments) {
      this.#documents.add(documentId);
      this.#grades.set(grade, (this.#grades.get(grade) ?? 0) + 1);
    }
  }

  counts() {
    const byGrade = [...this.#grades].toSorted(([a], [b]) => a - b).map(([grade, count]) => [String(grade), count]);
    return {
      judgmentsByGrade: Object.fromEntries(byGrade) as Readonly<Record<string, number>>,
      documents: this.#documents.size,
      /** Number of queries with each tag, by tag name. */
      tags: Object.fromEntries(this.#tags) as Readonly<Record<string, number>>,
    };
  }
}

/** Trims id, text, steps and tags, drops tags without a value, and checks the result. */
function cleanQuery(draft: QueryDraft, place: SourcePlace, onTrim: () => void): QueryDraft {
  const trim = (value: string): string => {
    const trimmed = value.trim();
    if (trimmed !== value) onTrim();
    return trimmed;
  };
  const require = (problem: string | null): void => {
    if (problem !== null) throw malformed(place, problem);
  };
  const id = draft.id === null ? null : trimBlanks(draft.id);
  if (id !== draft.id) onTrim();
  if (id !== null) require(idProblem('query id', id));
  const text = trim(draft.text);
  require(textProblem(text));
  const steps = (draft.steps ?? []).map(trim);
  for (const step of steps) require(textProblem(step, 'step'));
  const tags = new Map<string, string>();
  for (const [name, content] of Object.entries(draft.tags)) {
    const key = trim(name);
    const value = trim(content);
    require(tagKeyProblem(key));
    if (value === '') continue;
    require(tagValueProblem(key, value));
    if (tags.has(key)) throw malformed(place, `has the tag ${key} twice; keep one`);
    tags.set(key, value);
  }
  if (tags.size > goldenLimits.tags) {
    throw malformed(place, `has ${tags.size} tags; use at most ${goldenLimits.tags}`);
  }
  return { id, text, steps, tags: Object.fromEntries(tags) };
}

/** Returns equal strings if and only if text, steps and tags are equal; the order of the tags does not matter. */
export function queryKey(query: TaggedText): string {
  const tags = Object.entries(query.tags).toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)));
  const { steps = [] } = query;
  return JSON.stringify([query.text, tags, ...(steps.length === 0 ? [] : [steps])]);
}

function isSameQuery(a: TaggedText, b: TaggedText): boolean {
  return a.text === b.text && queryKey(a) === queryKey(b);
}
