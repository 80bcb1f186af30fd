import type { Block } from './blocks.ts';
import { countOf, DocumentRows, DocumentSet, enlarged, type LineIds, type QueryRows } from './document-rows.ts';

export class JudgmentTable extends DocumentRows {
  private grades = new Float64Array(this.room);
  private lines = new Uint32Array(this.room);

  protected override makeRoom(room: number): void {
    super.makeRoom(room);
    this.grades = enlarged(new Float64Array(room), this.grades);
    this.lines = enlarged(new Uint32Array(room), this.lines);
  }

  add(block: Block, line: number, ids: LineIds, grade: number): void {
    const row = this.addRow(block, ids);
    this.grades[row] = grade;
    this.lines[row] = line;
  }

  /** Yields every row with its query, in file order. */
  *rows(): Generator<{ readonly row: number; readonly queryId: string }> {
    const ranges = [...this.queries].flatMap(([queryId, own]) =>
      own.flatMap((from, i) => (i % 2 === 0 ? [{ queryId, from, to: own[i + 1] ?? from }] : [])),
    );
    for (const { queryId, from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
      for (let row = from; row < to; row++) yield { row, queryId };
    }
  }

  lineOf(row: number): number {
    return this.lines[row] ?? 0;
  }

  gradeOf(row: number): number {
    return this.grades[row] ?? -1;
  }

  /** Returns all grades of a query, in file order. */
  gradesOf(ranges: QueryRows): Float64Array {
    if (ranges.length === 2) return this.grades.subarray(ranges[0], ranges[1]);
    const grades = new Float64Array(countOf(ranges));
    let filled = 0;
    for (let i = 0; i < ranges.length; i += 2) {
      const range = this.grades.subarray(ranges[i], ranges[i + 1]);
      grades.set(range, filled);
      filled += range.length;
    }
    return grades;
  }

  /**
   * Fills `set` with the documents of a query, and leaves room for `more` documents. Returns the first row that repeats
   * a document, or -1.
   */
  listIn(set: DocumentSet, ranges: QueryRows, more = 0): number {
    set.empty(countOf(ranges) + more);
    for (let i = 0; i < ranges.length; i += 2) {
      for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++) {
        const { size } = set;
        if (set.add(this, row) < size) return row;
      }
    }
    return -1;
  }

  /** Returns the first line that repeats the judgment of a document for a query, or null. */
  firstRepeat(): { readonly line: number; readonly queryId: string; readonly documentId: string } | null {
    const set = new DocumentSet();
    let first: readonly [row: number, queryId: string] | null = null;
    for (const [queryId, query] of this.queries) {
      const row = this.listIn(set, query);
      if (row !== -1 && (first === null || row < first[0])) first = [row, queryId];
    }
    if (first === null) return null;
    const [row, queryId] = first;
    return { line: this.lines[row] ?? 0, queryId, documentId: this.text(row) };
  }
}
