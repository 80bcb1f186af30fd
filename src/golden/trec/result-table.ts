import type { ScoredDocuments } from '../../math/ir/ranking.ts';
import type { Block } from './blocks.ts';
import {
  countOf,
  DocumentRows,
  DocumentSet,
  enlarged,
  type LineIds,
  newResult,
  type QueryRows,
  readUsualResult,
} from './document-rows.ts';
import type { JudgmentTable } from './tables.ts';

/** Maximum average number of moves per row; an insertion sort that needs more is abandoned. */
const MAX_MOVES = 1;
/** `TAB` is the separator if only tabs separate columns. */
const [TAB, LINE_FEED, SPACE] = [0x09, 0x0a, 0x20] as const;

export class ResultTable extends DocumentRows {
  private scores = new Float64Array(this.room);
  private ranks = new Int32Array(this.room);
  private order = new Int32Array(256);
  private grades = new Float64Array(256);
  private readonly set = new DocumentSet();
  /** Element n is 1 if the judged document with the number n is already in the ranking of the query. */
  private taken = new Uint8Array(256);
  private readonly found = newResult();

  add(block: Block, ids: LineIds, score: number, rank: number): void {
    const row = this.addRow(block, ids);
    this.scores[row] = score;
    this.ranks[row] = rank;
  }

  /** Replaces all results with empty rows for new results, which the caller fills in; see `DocumentRows.fill`. */
  override fill(blocks: readonly Block[], results: number) {
    return { ...super.fill(blocks, results), scores: this.scores, ranks: this.ranks };
  }

  protected override makeRoom(room: number): void {
    super.makeRoom(room);
    this.scores = enlarged(new Float64Array(room), this.scores);
    this.ranks = enlarged(new Int32Array(room), this.ranks);
  }

  /**
   * Adds results of a run, beginning at `start`. Stops at the first line whose query id differs from that of the
   * previous row, or that does not have the usual form (see `readUsualResult`).
   *
   * @returns the start of the first line that was not added, which the caller reads or rejects
   */
  goOn(block: Block, start: number, hasTabs: boolean): number {
    const { bytes } = block;
    const { starts, ends, hashes, blockOf, lastId, lastIdLength, found, scores, ranks } = this;
    const blank = hasTabs ? TAB : SPACE;
    const ranges = this.last ?? [];
    const { length } = bytes;
    let row = this.count;
    if (this.block !== block || ranges[ranges.length - 1] !== row || bytes[length - 1] !== LINE_FEED) return start;
    const blockNumber = this.blocks.length - 1;
    const room = hashes.length;
    let line = start;
    for (; row < room && line < length; row++) {
      let i = 0;
      while (i < lastIdLength && bytes[line + i] === lastId[i]) i++;
      const next = i < lastIdLength ? -1 : readUsualResult(bytes, line + i, blank, found);
      if (next === -1) break;
      blockOf[row] = blockNumber;
      starts[row] = found.start;
      ends[row] = found.end;
      hashes[row] = found.hash;
      scores[row] = found.score[0] ?? 0;
      ranks[row] = found.rank;
      line = next;
    }
    this.count = row;
    ranges[ranges.length - 1] = row;
    return line;
  }

  /** Returns the documents of a query in file order, unranked and with repeats. */
  get(queryId: string): ScoredDocuments | undefined {
    const query = this.queries.get(queryId);
    if (query === undefined) return undefined;
    const rows = Array.from(this.rowsOf(query));
    return { ids: rows.map((row) => this.text(row)), scores: rows.map((row) => this.scores[row] ?? 0) };
  }

  /**
   * Ranks the documents of a query as `orderLikeTrecEval` does, and looks up their grades.
   *
   * @param collapses true to remove results that repeat a document; otherwise, such results stay, without a judgment
   */
  rank(queryId: string, judgments: JudgmentTable, judgedQuery: QueryRows, collapses: boolean) {
    const { scores, ranks } = this;
    const rows = this.rowsOf(this.queries.get(queryId) ?? []);
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
        } else if (this.compareIds(before, row) !== 0) scoreTies += 1;
      }
      const known = this.set.size;
      const number = this.set.add(this, row);
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
       * Number of pairs of adjacent results, after sorting by score, whose higher-scoring result has the better rank.
       */
      ranksAgree,
      /** Number of such pairs whose higher-scoring result has the worse rank. */
      ranksDisagree,
    };
  }

  /** Returns the rows of a query in file order; valid until the next call. */
  private rowsOf(ranges: QueryRows): Int32Array {
    const count = countOf(ranges);
    if (this.order.length < count) this.order = new Int32Array(2 * count);
    let filled = 0;
    for (let i = 0; i < ranges.length; i += 2) {
      for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++) this.order[filled++] = row;
    }
    return this.order.subarray(0, count);
  }

  /**
   * Sorts best first. Most runs are almost sorted, so insertion sort is tried first. If insertion sort takes too many
   * moves, as in a shuffled run, orders the rows by rank and tries insertion sort again.
   */
  private sort(rows: Int32Array): void {
    if (this.moveToPlaces(rows) || (this.placeByRank(rows) && this.moveToPlaces(rows))) return;
    rows.sort((a, b) => this.compare(a, b));
  }

  /** Moves each row to the index of its rank. Returns false and changes no row if ranks repeat or are missing. */
  private placeByRank(rows: Int32Array): boolean {
    const { ranks } = this;
    const { length } = rows;
    const before = rows.slice();
    let first = ranks[before[0] ?? 0] ?? 0;
    for (let i = 1; i < length; i++) first = Math.min(first, ranks[before[i] ?? 0] ?? 0);
    rows.fill(-1);
    for (let i = 0; i < length; i++) {
      const row = before[i] ?? 0;
      const place = (ranks[row] ?? 0) - first;
      if (place >= length || rows[place] !== -1) {
        rows.set(before);
        return false;
      }
      rows[place] = row;
    }
    return true;
  }

  /** Tries an insertion sort. If it takes too many moves, returns false and leaves the rows partly sorted. */
  private moveToPlaces(rows: Int32Array): boolean {
    let moves = 0;
    for (let i = 1; i < rows.length; i++) {
      const row = rows[i] ?? 0;
      let place = i;
      for (; place > 0 && this.compare(rows[place - 1] ?? 0, row) > 0; place--) rows[place] = rows[place - 1] ?? 0;
      rows[place] = row;
      moves += i - place;
      if (moves > MAX_MOVES * rows.length) return false;
    }
    return true;
  }

  private compare(a: number, b: number): number {
    const difference = (this.scores[b] ?? 0) - (this.scores[a] ?? 0);
    return difference !== 0 ? difference : this.compareIds(b, a);
  }
}
