/** The results of a run file, kept as numbers. */
import type { GradeByDocument } from '../../ir/evaluate.ts';
import type { ScoredDocuments } from '../../ir/ranking.ts';
import type { Block } from './blocks.ts';
import { ByteIndex, compareBytes, hashOfBytes, type Stretch } from './byte-index.ts';

/** Lines that are shorter on average, or more than so many, make the table grow. */
const [USUAL_LINE_BYTES, MAX_ROOM] = [24, 2 ** 24];

/**
 * Collects lines by their query id. The lines of a query mostly stand together, so the group of the last line is
 * tried first, by comparing bytes, before a string is made.
 */
export class QueryGroups<Group> {
  readonly byId = new Map<string, Group>();
  private readonly newGroup: () => Group;
  private last: { readonly id: Uint8Array; readonly group: Group } | undefined;

  constructor(newGroup: () => Group) {
    this.newGroup = newGroup;
  }

  /** The group of the query id in `[start, end)` of the block, a new one if it has none. */
  of(block: Block, start: number, end: number): Group {
    if (this.last !== undefined && holds(block.bytes, start, end, this.last.id)) return this.last.group;
    const id = block.bytes.toString('utf8', start, end);
    let group = this.byId.get(id);
    if (group === undefined) {
      group = this.newGroup();
      this.byId.set(id, group);
    }
    this.last = { id: Uint8Array.from(block.bytes.subarray(start, end)), group };
    return group;
  }
}

function holds(bytes: Uint8Array, start: number, end: number, value: Uint8Array): boolean {
  if (end - start !== value.length) return false;
  for (let i = 0; i < value.length; i++) {
    if (bytes[start + i] !== value[i]) return false;
  }
  return true;
}

/** The ranking that trec_eval makes of the results of a query, as the grades of its places. */
export interface GradedRanking {
  /** Of the documents, best first, -1 where there is no judgment; valid until the next ranking is asked for. */
  readonly grades: Float64Array;
  readonly length: number;
  /** Places that repeat a document. */
  readonly duplicates: number;
  /** Places with the score of the other document right before them. */
  readonly scoreTies: number;
}

/**
 * The results of a run file as numbers: where each document id stands in the text, and its score. Only what is asked
 * for as text becomes strings: a million of them take longer than the reading.
 */
export class ResultTable {
  /** For each query the ranges of its rows: start, end, start, end. Most queries have one. */
  private readonly queries = new QueryGroups<number[]>(() => []);
  private readonly blocks: Block[] = [];
  private rows = 0;
  private blockOf: Uint32Array;
  private starts: Uint32Array;
  private ends: Uint32Array;
  private hashes: Int32Array;
  private scores: Float64Array;
  private readonly judged = new ByteIndex();
  private readonly seen = new ByteIndex();
  private judgedIds = Buffer.alloc(4096);
  private judgedGrades = new Float64Array(128);
  private order: number[] = [];
  private grades = new Float64Array(128);

  /** @param fileBytes size of the file, so that there is room for its lines: what is not used is never touched */
  constructor(fileBytes = 0) {
    const room = Math.min(MAX_ROOM, Math.max(1024, Math.ceil(fileBytes / USUAL_LINE_BYTES)));
    this.blockOf = new Uint32Array(room);
    this.starts = new Uint32Array(room);
    this.ends = new Uint32Array(room);
    this.hashes = new Int32Array(room);
    this.scores = new Float64Array(room);
  }

  /** Number of queries. */
  get size(): number {
    return this.queries.byId.size;
  }

  /** Adds a result whose query id and document id stand at `[queryStart, queryEnd)` and `[start, end)` of the block. */
  add(block: Block, queryStart: number, queryEnd: number, start: number, end: number, score: number): void {
    if (this.blocks.at(-1) !== block) this.blocks.push(block);
    if (this.rows === this.scores.length) this.grow();
    const row = this.rows++;
    this.blockOf[row] = this.blocks.length - 1;
    this.starts[row] = start;
    this.ends[row] = end;
    this.hashes[row] = hashOfBytes(block.bytes, start, end);
    this.scores[row] = score;
    const ranges = this.queries.of(block, queryStart, queryEnd);
    if (ranges.at(-1) === row) ranges[ranges.length - 1] = row + 1;
    else ranges.push(row, row + 1);
  }

  /** The documents of a query in the order of the file, not yet ranked and with repeats. */
  get(queryId: string): ScoredDocuments | undefined {
    const rows = this.rowsOf(queryId);
    if (rows === null) return undefined;
    return {
      ids: rows.map((row) => this.blockAt(row).slice(this.starts[row] ?? 0, this.ends[row] ?? 0)),
      scores: rows.map((row) => this.scores[row] ?? 0),
    };
  }

  /**
   * Ranks the documents of a query as `orderLikeTrecEval` does, and looks up their grades.
   *
   * @param collapses whether a place that repeats a document is taken out; else it stays, without a judgment
   * @returns null when the query has no results
   */
  rank(queryId: string, judgments: GradeByDocument, collapses: boolean): GradedRanking | null {
    const rows = this.rowsOf(queryId);
    if (rows === null) return null;
    // Most run files are written best first, so a look at the order saves the sort.
    if (!this.isOrdered(rows)) rows.sort((a, b) => this.compare(a, b));
    this.prepare(judgments, rows.length);
    let length = 0;
    let duplicates = 0;
    let scoreTies = 0;
    let before = -1;
    for (const row of rows) {
      const { bytes } = this.blockAt(row);
      const start = this.starts[row] ?? 0;
      const end = this.ends[row] ?? 0;
      const hash = this.hashes[row] ?? 0;
      if (before !== -1 && this.scores[before] === this.scores[row] && this.compare(before, row) !== 0) scoreTies += 1;
      before = row;
      const isNew = this.seen.add(bytes, start, end, hash);
      if (!isNew) duplicates += 1;
      if (!isNew && collapses) continue;
      const found = isNew ? this.judged.find(bytes, start, end, hash) : -1;
      this.grades[length++] = found === -1 ? -1 : (this.judgedGrades[found] ?? -1);
    }
    return { grades: this.grades, length, duplicates, scoreTies };
  }

  /** Makes the judgments of a query what is looked up, and forgets the documents of the one before. */
  private prepare(judgments: GradeByDocument, results: number): void {
    this.seen.clear(results);
    this.judged.clear(judgments.size);
    if (this.grades.length < results) this.grades = new Float64Array(2 * results);
    if (this.judgedGrades.length < judgments.size) this.judgedGrades = new Float64Array(2 * judgments.size);
    let end = 0;
    let count = 0;
    for (const [id, grade] of judgments) {
      // No more than three bytes for a UTF-16 unit.
      if (this.judgedIds.length < end + 3 * id.length) {
        const larger = Buffer.alloc(2 * (end + 3 * id.length));
        this.judgedIds.copy(larger);
        this.judgedIds = larger;
      }
      const start = end;
      end += this.judgedIds.write(id, start);
      this.judged.add(this.judgedIds, start, end, hashOfBytes(this.judgedIds, start, end));
      this.judgedGrades[count++] = grade;
    }
  }

  /** The rows of a query in the order of the file; null when it has none. Valid until it is asked again. */
  private rowsOf(queryId: string): number[] | null {
    const ranges = this.queries.byId.get(queryId);
    if (ranges === undefined) return null;
    this.order.length = 0;
    for (let i = 0; i < ranges.length; i += 2) {
      for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++) this.order.push(row);
    }
    return this.order;
  }

  private isOrdered(rows: readonly number[]): boolean {
    for (let i = 1; i < rows.length; i++) if (this.compare(rows[i - 1] ?? 0, rows[i] ?? 0) > 0) return false;
    return true;
  }

  private compare(a: number, b: number): number {
    const difference = (this.scores[b] ?? 0) - (this.scores[a] ?? 0);
    return difference !== 0 ? difference : compareBytes(this.stretch(b), this.stretch(a));
  }

  private stretch(row: number): Stretch {
    return { bytes: this.blockAt(row).bytes, start: this.starts[row] ?? 0, end: this.ends[row] ?? 0 };
  }

  private blockAt(row: number): Block {
    const block = this.blocks[this.blockOf[row] ?? 0];
    if (block === undefined) throw new Error('a row of a run stands in no block');
    return block;
  }

  private grow(): void {
    const room = this.rows * 2;
    this.blockOf = enlarged(new Uint32Array(room), this.blockOf);
    this.starts = enlarged(new Uint32Array(room), this.starts);
    this.ends = enlarged(new Uint32Array(room), this.ends);
    this.hashes = enlarged(new Int32Array(room), this.hashes);
    this.scores = enlarged(new Float64Array(room), this.scores);
  }
}

function enlarged<Numbers extends Uint32Array | Int32Array | Float64Array>(target: Numbers, source: Numbers): Numbers {
  target.set(source);
  return target;
}
