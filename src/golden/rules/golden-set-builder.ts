/** Puts queries and judgments together, checked and merged, whatever format they were read from. */
import { RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { at, malformed, quoted, type SourcePlace } from '../../core/text/source-line.ts';
import type { ColumnReading } from './column-roles.ts';
import {
  forbiddenProblem,
  type GoldenLine,
  type GoldenSetFile,
  goldenLimits,
  gradeProblem,
  type ImportSummary,
  idProblem,
  type QueryDraft,
  tagKeyProblem,
  tagValueProblem,
  textProblem,
} from './golden-set.ts';
import { GoldenWarnings } from './golden-warnings.ts';
import { isMissing } from './grade-text.ts';
import { describeIdDifference, differenceInWords, shownIds } from './id-mismatch.ts';
import { trimBlanks } from './qrels-form.ts';
import { forbids } from './unwanted-answers.ts';

/**
 * What to do with a query that the set already has. `reject`: refuse it. `join`: add its judgments to the query that is
 * there. `separate`: add it as another query under a numbered id.
 */
export type RepeatPolicy = 'reject' | 'join' | 'separate';

interface Entry extends Question {
  readonly place: SourcePlace;
  /** Grades by document: a set may have a million of them, so that each is no object of its own. */
  readonly judgments: Map<string, number>;
  /** Of the judgments that stand elsewhere than the query. */
  judgedAt: Map<string, SourcePlace> | null;
  /** With the place of the first time that each is named. */
  forbidden: Map<string, SourcePlace> | null;
  /** Where it says that it has no answer; null where it does not. */
  noAnswer: SourcePlace | null;
  repeats: number;
}

type FinishedSet = Pick<GoldenSetFile, 'queries' | 'warnings' | 'counts' | 'summary'>;

/** Queries and judgments. */
const STEP = 2000;

/** As many ids tell how two kinds of them differ. */
const SOME_IDS = 200;

/** A number that a program made a fraction of, or that a spreadsheet rounded. */
const CHANGED_NUMBER = /^\d+\.0$|^\d([.,]\d+)?e\+\d+$/i;
const LONGEST_DOUBTFUL = 24;

export class GoldenSetBuilder {
  readonly warnings = new GoldenWarnings();
  /** How the columns of the file were read. */
  columns: readonly ColumnReading[] = [];
  readonly #skipOwnDocument: boolean;
  readonly #digest: (text: string) => string;
  readonly #entries = new Map<string, Entry>();
  /** Query ids of judgments without a query, to say how they differ. */
  readonly #unknownQueries = new Set<string>();

  /** `digest` maps text to a hex hash of at least 16 digits; queries without an id are named by it. */
  constructor(digest: (text: string) => string, skipOwnDocument = false) {
    this.#digest = digest;
    this.#skipOwnDocument = skipOwnDocument;
  }

  /**
   * Adds a query and returns the id under which its judgments belong. A query without an id gets `q-` and 16 digits
   * of the hash of its question and tags, so the same question keeps its id from version to version.
   * @throws RecalldError `file_malformed` for an id, text or tag out of bounds, or a repeat that may not be.
   */
  addQuery(draft: QueryDraft, place: SourcePlace, repeat: RepeatPolicy): string {
    const question = cleanQuery(draft, place, () => this.warnings.count('value_trimmed', place));
    const id = question.id ?? `q-${this.#digest(questionKey(question)).slice(0, 16)}`;
    const known = this.#entries.get(id);
    this.#countDoubtful(question.text, place);
    if (known === undefined) return this.#insert(id, question, place);
    if (repeat === 'reject') {
      throw malformed(
        place,
        question.id === null
          ? `repeats the question and tags of ${at(known.place)}; put their judgments on one line or give each an id`
          : `repeats the query id ${quoted(id)} of ${at(known.place)}; give each query its own id`,
      );
    }
    if (!isSameQuestion(known, question)) {
      throw malformed(
        place,
        `gives the query id ${quoted(id)} another question or other tags than ${at(known.place)}; use two ids`,
      );
    }
    if (repeat === 'join') {
      this.warnings.count('row_joined', place);
      return id;
    }
    known.repeats += 1;
    const numbered = `${id}#${known.repeats + 1}`;
    const taken = this.#entries.get(numbered);
    if (taken === undefined) return this.#insert(numbered, question, place);
    throw malformed(place, `needs the query id ${quoted(numbered)}, which ${at(taken.place)} has; rename that one`);
  }

  /**
   * Adds a judgment. Negative grades and queries that the set lacks are counted and left out; the same judgment
   * twice counts once.
   * @throws RecalldError `file_malformed` for an id or grade out of bounds, or a document judged in two ways.
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
      `gives the document ${quoted(document)} the grade ${grade} for the query ${quoted(query)}, ` +
        `but ${at(entry.judgedAt?.get(document) ?? entry.place)} gives ${known}; keep one of the two`,
    );
  }

  /**
   * Adds a document that a query must never bring, or with a `*` at its end all whose ids begin so. The same twice counts
   * once.
   * @throws RecalldError `file_malformed` for an id out of bounds, or too many of one query.
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
    const most = goldenLimits.forbidden;
    if (entry.forbidden.size > most)
      throw malformed(
        place,
        `has more than ${most} forbidden documents of one query; forbid beginnings of ids with a *`,
      );
  }

  /** Says that nothing answers a query of the set. */
  addNoAnswer(queryId: string, place: SourcePlace): void {
    const entry = this.#entries.get(queryId);
    if (entry !== undefined) entry.noAnswer ??= place;
  }

  /** Adds a query that the set may not have yet, with its judgments. @throws as addQuery, addJudgment, addForbidden */
  addLine(line: GoldenLine, place: SourcePlace): void {
    const id = this.addQuery(line, place, 'reject');
    for (const { documentId, grade } of line.judgments) this.addJudgment(id, documentId, grade, place);
    for (const pattern of line.forbidden) this.addForbidden(id, pattern, place);
    if (line.noAnswer) this.addNoAnswer(id, place);
  }

  /** Every document that some query has a judgment for. */
  judgedDocuments(): Set<string> {
    const documents = new Set<string>();
    for (const entry of this.#entries.values()) {
      for (const document of entry.judgments.keys()) documents.add(document);
    }
    return documents;
  }

  /**
   * The queries with a judgment, a forbidden document or no answer, in the order they were added. `source` is the name of the file
   * or folder, for the message; `isUnjudged` keeps all.
   * @throws RecalldError `golden_set_empty` when there are no queries, no judgments, or none that belong together, and
   * `file_malformed` for a relevant document that is forbidden, or that answers a query without an answer.
   */
  finish(source: string, isUnjudged = false): FinishedSet {
    const steps = this.finishInSteps(source, isUnjudged);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  /** As `finish`, in steps of some hundred queries, between which other work has its turn. */
  *finishInSteps(source: string, isUnjudged = false): Generator<void, FinishedSet> {
    const queries: GoldenQuery[] = [];
    let judgmentCount = 0;
    let sinceStep = 0;
    let entries = 0;
    const ids: string[] = [];
    const summary = new SetSummary();
    for (const [id, entry] of this.#entries) {
      const { text, tags, place, judgments, forbidden, noAnswer } = entry;
      // What is finished needs no second copy.
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
      if (noAnswer !== null) this.#leaveOut(entry, noAnswer);
      if (list.length > 0 && list.every(({ grade }) => grade === 0)) this.warnings.count('query_all_zero', place);
      const query: GoldenQuery = { id, text, tags, judgments: list };
      if (forbidden !== null) refuseRelevant(list, forbidden);
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
          ? 'holds no queries; a golden set needs at least one query with a judged document.'
          : `has no judgment for any of its queries${this.#whyUnjudged(ids)}`;
      throw new RecalldError('golden_set_empty', `${source} ${problem}`);
    }
    yield;
    return {
      queries,
      warnings: this.warnings.sentences(),
      counts: { queries: queries.length, judgments: judgmentCount },
      summary: { ...summary.counts(), columns: this.columns, leftOut: this.warnings.leftOut() },
    };
  }

  /** The judgments of a query that says it has no answer. */
  #leaveOut(entry: Entry, noAnswer: SourcePlace): void {
    for (const [documentId, grade] of entry.judgments) {
      const place = entry.judgedAt?.get(documentId) ?? entry.place;
      if (grade > 0)
        throw malformed(
          noAnswer,
          `says that a query has no answer, but ${at(place)} judges ${quoted(documentId)} relevant to it; keep one of the two`,
        );
      this.warnings.count('no_answer_judged', place);
    }
  }

  /** How the ids of judgments differ from those of the queries, else what else was left out. */
  #whyUnjudged(queries: readonly string[]): string {
    const unknown = [...this.#unknownQueries];
    const reasons = this.warnings.leftOutSentences();
    if (unknown.length === 0) return reasons.length === 0 ? '; judge at least one document.' : `. ${reasons.join(' ')}`;
    const difference = describeIdDifference(unknown, queries);
    const [judged, asked] = shownIds(difference);
    return (
      `: judgments have the query id ${judged}, and queries ${asked}, which ${differenceInWords(difference)}. ` +
      'Use the same query ids for both.'
    );
  }

  /** Counts what another program may have put there for a value that was missing, or that it changed. */
  #countDoubtful(value: string, place: SourcePlace): void {
    if (value.length <= LONGEST_DOUBTFUL && (isMissing(value) || CHANGED_NUMBER.test(value))) {
      this.warnings.count('value_doubtful', place);
    }
  }

  #insert(id: string, question: Question, place: SourcePlace): string {
    const { text, tags } = question;
    this.#entries.set(id, {
      text,
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

/** What the queries of a set come to. */
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

  counts(): Pick<ImportSummary, 'judgmentsByGrade' | 'documents' | 'tags'> {
    const byGrade = [...this.#grades].toSorted(([a], [b]) => a - b).map(([grade, count]) => [String(grade), count]);
    return {
      judgmentsByGrade: Object.fromEntries(byGrade),
      documents: this.#documents.size,
      tags: Object.fromEntries(this.#tags),
    };
  }
}

function refuseRelevant(judgments: GoldenQuery['judgments'], forbidden: ReadonlyMap<string, SourcePlace>): void {
  for (const { documentId, grade } of judgments) {
    const pattern = grade > 0 ? forbids([...forbidden.keys()], documentId) : null;
    const place = pattern === null ? undefined : forbidden.get(pattern);
    if (place !== undefined)
      throw malformed(
        place,
        `forbids the document ${quoted(documentId)} that the same query judges relevant; keep one of the two`,
      );
  }
}

/** A question with its tags: how it is cleaned, and when two are the same. */
export interface Question {
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * Removes white space around id, text and tags, drops tags without a value, and checks what is left. `onTrim` is
 * called for each value that was cut.
 * @throws RecalldError `file_malformed` for what is empty, too long or not storable.
 */
function cleanQuery(draft: QueryDraft, place: SourcePlace, onTrim: () => void): Question & Pick<QueryDraft, 'id'> {
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
  return { id, text, tags: Object.fromEntries(tags) };
}

/** Text that is equal exactly for equal questions; the order of the tags does not count. */
export function questionKey(question: Question): string {
  const tags = Object.entries(question.tags).toSorted(([a], [b]) => (a < b ? -1 : Number(a > b)));
  return JSON.stringify([question.text, tags]);
}

/** Whether text and tags are equal. */
function isSameQuestion(a: Question, b: Question): boolean {
  return a.text === b.text && questionKey(a) === questionKey(b);
}
