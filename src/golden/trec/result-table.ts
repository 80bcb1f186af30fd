import type { ScoredDocuments } from '../../math/ir/ranking.ts';
import type { Block } from './blocks.ts';
import { countOf, DocumentRows, DocumentSet, enlarged, type LineIds, type QueryRows } from './document-rows.ts';
import type { JudgmentTable } from './tables.ts';

/**
 * Maximum average number of moves per row before an insertion sort is abandoned. `FIRST_MOVES` applies to all attempts
 * except the last; `MAX_MOVES` applies to the last attempt.
 */
const [FIRST_MOVES, MAX_MOVES] = [1, 8] as const;
const NO_ROWS: QueryRows = { ranges: [] };
const SPACE = 0x20;
/** The separator that is passed as `blank` if only tabs separate columns. */
const TAB = 0x09;

export class ResultTable {
  private readonly documents: DocumentRows;
  private scores: Float64Array;
  private ranks: Int32Array;
  private order = new Int32Array(256);
  private grades = new Float64Array(256);
  private readonly set = new DocumentSet();
  /** Element n is 1 if the judged document with the number n is already in the ranking of the query. */
  private taken = new Uint8Array(256);
  /** Scores of the query being sorted. The lowest bits of each score contain the index of its row. */
  private keys = new Float64Array(256);
  private unsorted = new Int32Array(256);

  constructor(fileBytes = 0) {
    this.documents = new DocumentRows(fileBytes);
    this.scores = new Float64Array(this.documents.room);
    this.ranks = new Int32Array(this.documents.room);
  }

  /** In file order. */
  get queryIds(): Iterable<string> {
    return this.documents.queries.keys();
  }

  get length(): number {
    return this.documents.size;
  }

  /** True if a line has the same query as the previous line. */
  goesOn(block: Block, { queryStart, queryEnd }: LineIds): boolean {
    return this.documents.isOfLastQuery(block, queryStart, queryEnd);
  }

  /** Removes all results. @returns the blocks of these results, which are no longer read */
  clear(): readonly Block[] {
    return this.documents.clear();
  }

  add(block: Block, ids: LineIds, score: number, rank: number): void {
    const row = this.documents.add(block, ids);
    this.makeRoom();
    this.scores[row] = score;
    this.ranks[row] = rank;
  }

  /** Replaces all results with empty rows for new results, which the caller fills in; see `DocumentRows.fill`. */
  fill(blocks: readonly Block[], results: number) {
    const rows = this.documents.fill(blocks, results);
    this.makeRoom();
    return { ...rows, scores: this.scores, ranks: this.ranks };
  }

  /** Assigns the results `[start, end)` to a query. */
  setQuery(queryId: string, start: number, end: number): void {
    this.documents.setQuery(queryId, start, end);
  }

  private makeRoom(): void {
    const { room } = this.documents;
    if (room <= this.scores.length) return;
    this.scores = enlarged(new Float64Array(room), this.scores);
    this.ranks = enlarged(new Int32Array(room), this.ranks);
  }

  /** Adds TREC lines from `start` on; see `DocumentRows.goOn`. */
  goOn(block: Block, start: number, hasTabs: boolean): number {
    return this.documents.goOn(block, start, hasTabs ? TAB : SPACE, this.scores, this.ranks);
  }

  /** Returns the documents of a query in file order, unranked and with repeats. */
  get(queryId: string): ScoredDocuments | undefined {
    const query = this.documents.queries.get(queryId);
    if (query === undefined) return undefined;
    const rows = Array.from(this.rowsOf(query));
    return { ids: rows.map((row) => this.documents.text(row)), scores: rows.map((row) => this.scores[row] ?? 0) };
  }

  /**
   * Ranks the documents of a query as `orderLikeTrecEval` does, and looks up their grades.
   *
   * @param collapses true to remove results that repeat a document; otherwise, such results stay, without a judgment
   */
  rank(queryId: string, judgments: JudgmentTable, judgedQuery: QueryRows, collapses: boolean) {
    const query = this.documents.queries.get(queryId) ?? NO_ROWS;
    const { documents, scores, ranks } = this;
    const rows = this.rowsOf(query);
    this.sort(rows);
    if (this.grades.length < rows.length) this.grades = new Float64Array(2 * rows.length);
    judgments.listIn(this.set, judgedQuery, rows.length);
    const judged = this.set.size;
    if (this.taken.length < judged) this.taken = new Uint8Array(2 * judged);
    this.taken.fill(0, 0, judged);
    let length = 0;
    let judgedFound = 0;
    let duplicates = 0;
    let scoreTies = 0;
    let ranksAgree = 0;
    let ranksDisagree = 0;
    for (let place = 0; place < rows.length; place++) {
      const row = rows[place] ?? 0;
      const before = rows[place - 1] ?? 0;
      if (place > 0) {
        if (scores[before] !== scores[row]) {
          const step = (ranks[row] ?? 0) - (ranks[before] ?? 0);
          if (step > 0) ranksAgree += 1;
          else if (step < 0) ranksDisagree += 1;
        } else if (documents.compare(before, row) !== 0) scoreTies += 1;
      }
      const known = this.set.size;
      const number = this.set.add(documents, row);
      const isJudged = number < judged;
      const isNew = isJudged ? this.taken[number] === 0 : number >= known;
      if (isJudged) this.taken[number] = 1;
      if (!isNew) duplicates += 1;
      if (!isNew && collapses) continue;
      const grade = isJudged && isNew ? judgments.gradeOf(this.set.rowOf(number)) : -1;
      if (grade >= 0) judgedFound += 1;
      this.grades[length++] = grade;
    }
    return {
      /**
       * Grades of the documents, best rank first; unjudged documents have the grade -1. Valid until the next query is
       * ranked.
       */
      grades: this.grades,
      length,
      judgedFound,
      duplicates,
      /** Number of results that have the same score as the previous result but a different document. */
      scoreTies,
      /**
       * Number of pairs of adjacent results, after sorting by score, in which the result with the higher score has the
       * better rank.
       */
      ranksAgree,
      /** Number of such pairs in which the result with the higher score has the worse rank. */
      ranksDisagree,
    };
  }

  /** Returns the rows of a query in file order; valid until the next call. */
  private rowsOf(query: QueryRows): Int32Array {
    const count = countOf(query);
    if (this.order.length < count) this.order = new Int32Array(2 * count);
    let filled = 0;
    for (let i = 0; i < query.ranges.length; i += 2) {
      for (let row = query.ranges[i] ?? 0; row < (query.ranges[i + 1] ?? 0); row++) this.order[filled++] = row;
    }
    return this.order.subarray(0, count);
  }

  /**
   * Sorts best first. Most runs are almost sorted, so insertion sort is tried first. If insertion sort takes too many
   * moves, as in a shuffled run, orders the rows by rank and tries insertion sort again. If the second insertion sort
   * also takes too many moves, sorts the rows by score.
   */
  private sort(rows: Int32Array): void {
    if (this.moveToPlaces(rows, FIRST_MOVES)) return;
    if (this.placeByRank(rows) && this.moveToPlaces(rows, FIRST_MOVES)) return;
    if (this.sortByScore(rows)) return;
    if (!this.moveToPlaces(rows, MAX_MOVES)) rows.sort((a, b) => this.compare(a, b));
  }

  /** Moves each row to the index of its rank. Returns false and changes no row if ranks repeat or are missing. */
  private placeByRank(rows: Int32Array): boolean {
    const { ranks } = this;
    const { length } = rows;
    const before = this.copyOf(rows);
    let first = ranks[before[0] ?? 0] ?? 0;
    for (let i = 1; i < length; i++) first = Math.min(first, ranks[before[i] ?? 0] ?? 0);
    rows.fill(-1);
    for (let i = 0; i < length; i++) {
      const row = before[i] ?? 0;
      const place = (ranks[row] ?? 0) - first;
      if (place >= length || rows[place] !== -1) {
        rows.set(before.subarray(0, length));
        return false;
      }
      rows[place] = row;
    }
    return true;
  }

  private copyOf(rows: Int32Array): Int32Array {
    if (this.unsorted.length < rows.length) this.unsorted = new Int32Array(2 * rows.length);
    this.unsorted.set(rows);
    return this.unsorted;
  }

  /**
   * Tries an insertion sort. If the sort takes more than `maxMoves` moves per row on average, returns false and leaves
   * the rows partly sorted.
   */
  private moveToPlaces(rows: Int32Array, maxMoves: number): boolean {
    let moves = 0;
    for (let i = 1; i < rows.length; i++) {
      const row = rows[i] ?? 0;
      let place = i;
      for (; place > 0 && this.compare(rows[place - 1] ?? 0, row) > 0; place--) rows[place] = rows[place - 1] ?? 0;
      rows[place] = row;
      moves += i - place;
      if (moves > maxMoves * rows.length) return false;
    }
    return true;
  }

  /**
   * Sorts by score. The lowest bits of each score are replaced with the index of its row, so that a plain array of
   * doubles can be sorted without a callback per comparison.
   *
   * @returns false if some scores are equal, or differ only in the lowest bits
   */
  private sortByScore(rows: Int32Array): boolean {
    const { length } = rows;
    if (this.keys.length < length) this.keys = new Float64Array(2 * length);
    const keys = this.keys.subarray(0, length);
    const words = new Uint32Array(keys.buffer);
    const mask = 2 ** Math.ceil(Math.log2(length)) - 1;
    const unsorted = this.copyOf(rows);
    for (let i = 0; i < length; i++) {
      // Adding 0 turns -0 into 0.
      keys[i] = (this.scores[rows[i] ?? 0] ?? 0) + 0;
      words[LOW_WORD + 2 * i] = (((words[LOW_WORD + 2 * i] ?? 0) & ~mask) | i) >>> 0;
    }
    keys.sort();
    let isSorted = true;
    let [highBefore, lowBefore] = [0, 0];
    for (let i = 0; i < length; i++) {
      const at = 2 * (length - 1 - i);
      const [high, low] = [words[at + 1 - LOW_WORD] ?? 0, words[at + LOW_WORD] ?? 0];
      rows[i] = unsorted[low & mask] ?? 0;
      if (i > 0 && high === highBefore && ((low ^ lowBefore) & ~mask) === 0) isSorted = false;
      highBefore = high;
      lowBefore = low;
    }
    return isSorted;
  }

  private compare(a: number, b: number): number {
    const difference = (this.scores[b] ?? 0) - (this.scores[a] ?? 0);
    return difference !== 0 ? difference : this.documents.compare(b, a);
  }
}

/** Index (0 or 1) of the 32-bit word that contains the lowest bits of a double. */
const LOW_WORD = new Uint32Array(Float64Array.of(1).buffer)[0] === 0 ? 0 : 1;
