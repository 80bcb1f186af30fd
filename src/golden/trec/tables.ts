/** The judgments of a qrels file and the results of a run file, kept as numbers. */

import type { ScoredDocuments } from '../../ir/ranking.ts';
import type { Block } from './blocks.ts';
import { countOf, DocumentRows, DocumentSet, enlarged, type QueryRows } from './document-rows.ts';

/** Grades by query and document id. */
export class JudgmentTable {
  readonly documents: DocumentRows;
  private grades: Float64Array;
  /** The line of each row. */
  private lines: Uint32Array;

  /** @param fileBytes size of the file */
  constructor(fileBytes: number) {
    this.documents = new DocumentRows(fileBytes);
    this.grades = new Float64Array(this.documents.room);
    this.lines = new Uint32Array(this.documents.room);
  }

  /** In the order of the file. */
  get queries(): ReadonlyMap<string, QueryRows> {
    return this.documents.queries;
  }

  /** The grade of the document at `[start, end)` of a line, for the query at `[queryStart, queryEnd)`. */
  add(
    block: Block,
    line: number,
    queryStart: number,
    queryEnd: number,
    start: number,
    end: number,
    grade: number,
  ): void {
    const { documents } = this;
    const row = documents.add(block, queryStart, queryEnd, start, end);
    if (documents.room > this.grades.length) {
      this.grades = enlarged(new Float64Array(documents.room), this.grades);
      this.lines = enlarged(new Uint32Array(documents.room), this.lines);
    }
    this.grades[row] = grade;
    this.lines[row] = line;
  }

  /** Adds the judgments from `start` on, where this line stands, as `DocumentRows.goOn` does. */
  goOn(block: Block, start: number, firstLine: number): number {
    const { documents, lines } = this;
    const first = documents.size;
    const next = documents.goOn(block, start, 'qrels', this.grades);
    for (let row = first; row < documents.size; row++) lines[row] = firstLine + row - first;
    return next;
  }

  /** How many judgments there are. */
  get length(): number {
    return this.documents.size;
  }

  gradeOf(row: number): number {
    return this.grades[row] ?? -1;
  }

  /** All grades of a query, in the order of the file. */
  gradesOf(query: QueryRows): Float64Array {
    const { ranges } = query;
    if (ranges.length === 2) return this.grades.subarray(ranges[0], ranges[1]);
    const grades = new Float64Array(countOf(query));
    let filled = 0;
    for (let i = 0; i < ranges.length; i += 2) {
      const range = this.grades.subarray(ranges[i], ranges[i + 1]);
      grades.set(range, filled);
      filled += range.length;
    }
    return grades;
  }

  /** Makes a set hold the documents of a query, with room for more rows; returns the first row that repeats one, or -1. */
  listIn(set: DocumentSet, query: QueryRows, more = 0): number {
    const { ranges } = query;
    set.empty(countOf(query) + more);
    for (let i = 0; i < ranges.length; i += 2) {
      for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++) {
        const { size } = set;
        if (set.add(this.documents, row) < size) return row;
      }
    }
    return -1;
  }

  /** The first line that judges a document again for its query; null when none does. */
  firstRepeat(): { readonly line: number; readonly queryId: string; readonly documentId: string } | null {
    const set = new DocumentSet();
    let first: readonly [row: number, queryId: string] | null = null;
    for (const [queryId, query] of this.queries) {
      const row = this.listIn(set, query);
      if (row !== -1 && (first === null || row < first[0])) first = [row, queryId];
    }
    if (first === null) return null;
    const [row, queryId] = first;
    return { line: this.lines[row] ?? 0, queryId, documentId: this.documents.text(row) };
  }
}

/** The ranking that trec_eval makes of the results of a query, as the grades of its places. */
interface GradedRanking {
  /** Of the documents, best first, -1 where there is no judgment; valid until the next ranking is asked for. */
  readonly grades: Float64Array;
  readonly length: number;
  /** Places that repeat a document. */
  readonly duplicates: number;
  /** Places with the score of the other document right before them. */
  readonly scoreTies: number;
}

/** Of each row, in the mean, before another way to sort is faster. */
const MOST_MOVES = 8;
const NO_ROWS: QueryRows = { ranges: [] };

/** Scores by query and document id. */
export class ResultTable {
  private readonly documents: DocumentRows;
  private scores: Float64Array;
  /** The rows of the query that is ranked. */
  private order = new Int32Array(256);
  private grades = new Float64Array(256);
  private readonly set = new DocumentSet();
  /** 1 for each judged document of the query that is ranked already. */
  private taken = new Uint8Array(256);

  /** @param fileBytes size of the file */
  constructor(fileBytes = 0) {
    this.documents = new DocumentRows(fileBytes);
    this.scores = new Float64Array(this.documents.room);
  }

  /** In the order of the file. */
  get queryIds(): Iterable<string> {
    return this.documents.queries.keys();
  }

  /** Number of results. */
  get length(): number {
    return this.documents.size;
  }

  /** Whether a line with its query id at `[start, end)` goes on with the query of the last one. */
  goesOn(block: Block, start: number, end: number): boolean {
    return this.documents.isOfLastQuery(block, start, end);
  }

  /** Forgets all results. @returns the blocks that they stood in, which nobody reads any more */
  clear(): readonly Block[] {
    return this.documents.clear();
  }

  /** Adds a result whose query id and document id stand at `[queryStart, queryEnd)` and `[start, end)` of the block. */
  add(block: Block, queryStart: number, queryEnd: number, start: number, end: number, score: number): void {
    const { documents } = this;
    const row = documents.add(block, queryStart, queryEnd, start, end);
    if (documents.room > this.scores.length) this.scores = enlarged(new Float64Array(documents.room), this.scores);
    this.scores[row] = score;
  }

  /** Adds the results of a run from `start` on as `DocumentRows.goOn` does. */
  goOn(block: Block, start: number): number {
    return this.documents.goOn(block, start, 'run', this.scores);
  }

  /** The documents of a query in the order of the file, not yet ranked and with repeats. */
  get(queryId: string): ScoredDocuments | undefined {
    const query = this.documents.queries.get(queryId);
    if (query === undefined) return undefined;
    const rows = Array.from(this.rowsOf(query));
    return { ids: rows.map((row) => this.documents.text(row)), scores: rows.map((row) => this.scores[row] ?? 0) };
  }

  /**
   * Ranks the documents of a query as `orderLikeTrecEval` does, and looks up their grades.
   *
   * @param judgedQuery the query among the judgments
   * @param collapses whether a place that repeats a document is taken out; else it stays, without a judgment
   * @param queryId one of `queryIds`
   */
  rank(queryId: string, judgments: JudgmentTable, judgedQuery: QueryRows, collapses: boolean): GradedRanking {
    const query = this.documents.queries.get(queryId) ?? NO_ROWS;
    const { documents, scores } = this;
    const rows = this.rowsOf(query);
    this.sort(rows);
    if (this.grades.length < rows.length) this.grades = new Float64Array(2 * rows.length);
    judgments.listIn(this.set, judgedQuery, rows.length);
    const judged = this.set.size;
    if (this.taken.length < judged) this.taken = new Uint8Array(2 * judged);
    this.taken.fill(0, 0, judged);
    let length = 0;
    let duplicates = 0;
    let scoreTies = 0;
    for (let place = 0; place < rows.length; place++) {
      const row = rows[place] ?? 0;
      const before = rows[place - 1] ?? 0;
      if (place > 0 && scores[before] === scores[row] && documents.compare(before, row) !== 0) scoreTies += 1;
      const known = this.set.size;
      const number = this.set.add(documents, row);
      const isJudged = number < judged;
      const isNew = isJudged ? this.taken[number] === 0 : number >= known;
      if (isJudged) this.taken[number] = 1;
      if (!isNew) duplicates += 1;
      if (!isNew && collapses) continue;
      this.grades[length++] = isJudged && isNew ? judgments.gradeOf(this.set.rowOf(number)) : -1;
    }
    return { grades: this.grades, length, duplicates, scoreTies };
  }

  /** The rows of a query in the order of the file; valid until the next ones are asked for. */
  private rowsOf(query: QueryRows): Int32Array {
    const count = countOf(query);
    if (this.order.length < count) this.order = new Int32Array(2 * count);
    let filled = 0;
    for (let i = 0; i < query.ranges.length; i += 2) {
      for (let row = query.ranges[i] ?? 0; row < (query.ranges[i + 1] ?? 0); row++) this.order[filled++] = row;
    }
    return this.order.subarray(0, count);
  }

  /** Best first. Most runs are written so, or nearly, so that each row is moved to its place until that takes too long. */
  private sort(rows: Int32Array): void {
    let moves = 0;
    for (let i = 1; i < rows.length; i++) {
      const row = rows[i] ?? 0;
      let place = i;
      for (; place > 0 && this.compare(rows[place - 1] ?? 0, row) > 0; place--) rows[place] = rows[place - 1] ?? 0;
      rows[place] = row;
      moves += i - place;
      if (moves > MOST_MOVES * rows.length) {
        rows.sort((a, b) => this.compare(a, b));
        return;
      }
    }
  }

  private compare(a: number, b: number): number {
    const difference = (this.scores[b] ?? 0) - (this.scores[a] ?? 0);
    return difference !== 0 ? difference : this.documents.compare(b, a);
  }
}
