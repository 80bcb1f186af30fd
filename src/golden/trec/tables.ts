import type { Block } from './blocks.ts';
import { countOf, DocumentRows, DocumentSet, enlarged, type LineIds, type QueryRows } from './document-rows.ts';

export class JudgmentTable {
  readonly documents: DocumentRows;
  private grades: Float64Array;
  private lines: Uint32Array;

  constructor(fileBytes: number) {
    this.documents = new DocumentRows(fileBytes);
    this.grades = new Float64Array(this.documents.room);
    this.lines = new Uint32Array(this.documents.room);
  }

  /** In file order. */
  get queries(): ReadonlyMap<string, QueryRows> {
    return this.documents.queries;
  }

  add(block: Block, line: number, ids: LineIds, grade: number): void {
    const { documents } = this;
    const row = documents.add(block, ids);
    if (documents.room > this.grades.length) {
      this.grades = enlarged(new Float64Array(documents.room), this.grades);
      this.lines = enlarged(new Uint32Array(documents.room), this.lines);
    }
    this.grades[row] = grade;
    this.lines[row] = line;
  }

  /** Yields every row with its query, in file order. */
  *rows(): Generator<{ readonly row: number; readonly queryId: string }> {
    const ranges = [...this.queries].flatMap(([queryId, { ranges: own }]) =>
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

  /**
   * Fills `set` with the documents of a query, and leaves room for `more` documents. Returns the first row that repeats
   * a document, or -1.
   */
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

  /** Returns the first line that judges a document a second time for the same query, or null. */
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
