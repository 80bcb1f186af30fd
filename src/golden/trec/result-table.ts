/** The results of a run file, kept as numbers. */
import type { ScoredDocuments } from '../../ir/ranking.ts';
import type { Block } from './blocks.ts';

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
    const id = block.slice(start, end);
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

/** The documents of a run by query id, in the order of the file, not yet ranked and with repeats. */
export interface RunDocuments {
  /** Number of queries. */
  readonly size: number;
  get(queryId: string): ScoredDocuments | undefined;
}

/**
 * The results of a run file as numbers: where each document id stands in the text, and its score. The ids of a query
 * become strings when they are asked for, because a million strings that live long keep the garbage collector busier
 * than the reading takes.
 */
export class ResultTable implements RunDocuments {
  /** For each query the ranges of its rows: start, end, start, end. Most queries have one. */
  private readonly queries = new QueryGroups<number[]>(() => []);
  private readonly blocks: Block[] = [];
  private rows = 0;
  private blockOf = new Uint32Array(1024);
  private starts = new Uint32Array(1024);
  private ends = new Uint32Array(1024);
  private scores = new Float64Array(1024);

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
    this.scores[row] = score;
    const ranges = this.queries.of(block, queryStart, queryEnd);
    if (ranges.at(-1) === row) ranges[ranges.length - 1] = row + 1;
    else ranges.push(row, row + 1);
  }

  get(queryId: string): ScoredDocuments | undefined {
    const ranges = this.queries.byId.get(queryId);
    if (ranges === undefined) return undefined;
    const ids: string[] = [];
    const scores: number[] = [];
    for (let i = 0; i < ranges.length; i += 2) {
      for (let row = ranges[i] ?? 0; row < (ranges[i + 1] ?? 0); row++) {
        const block = this.blocks[this.blockOf[row] ?? 0];
        ids.push(block?.slice(this.starts[row] ?? 0, this.ends[row] ?? 0) ?? '');
        scores.push(this.scores[row] ?? 0);
      }
    }
    return { ids, scores };
  }

  private grow(): void {
    const room = this.rows * 2;
    this.blockOf = enlarged(new Uint32Array(room), this.blockOf);
    this.starts = enlarged(new Uint32Array(room), this.starts);
    this.ends = enlarged(new Uint32Array(room), this.ends);
    this.scores = enlarged(new Float64Array(room), this.scores);
  }
}

function enlarged<Numbers extends Uint32Array | Float64Array>(target: Numbers, source: Numbers): Numbers {
  target.set(source);
  return target;
}
