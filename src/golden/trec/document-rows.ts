/** Lines of a TREC file by their query, as numbers: document ids stay bytes of the file, and few become strings. */
import { parseScore } from '../../math/ir/trec-line.ts';
import type { Block } from './blocks.ts';

const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, ZERO] = [0x09, 0x0a, 0x0d, 0x20, 0x30] as const;

/** A rank of so many digits is exact in 32 bits. */
export const EXACT_RANK = 9;

/** Lines that are shorter on average, or more than so many, make the arrays grow. */
const [USUAL_LINE_BYTES, MAX_ROOM] = [40, 2 ** 24];

/** The rows of one query. */
export interface QueryRows {
  /** Start, end, start, end. The lines of a query mostly stand together, so that there is one range. */
  readonly ranges: number[];
}

/** Numbers the lines of a file from 0, and keeps where the document id of each stands. */
export class DocumentRows {
  readonly queries = new Map<string, QueryRows>();
  /** Of the bytes of the document id of each row. */
  hashes: Int32Array;
  private readonly blocks: Block[] = [];
  private block: Block | undefined;
  private blockOf: Uint32Array;
  private starts: Uint32Array;
  private ends: Uint32Array;
  private count = 0;
  private lastId = new Uint8Array(64);
  private lastIdLength = 0;
  private last: QueryRows | undefined;

  /** @param fileBytes size of the file, so that there is room for its lines: what is not used is never touched */
  constructor(fileBytes: number) {
    const room = Math.min(MAX_ROOM, Math.max(1024, Math.ceil(fileBytes / USUAL_LINE_BYTES)));
    this.blockOf = new Uint32Array(room);
    this.starts = new Uint32Array(room);
    this.ends = new Uint32Array(room);
    this.hashes = new Int32Array(room);
  }

  /** Forgets all rows. @returns the blocks that they stood in, which are no longer read */
  clear(): readonly Block[] {
    this.queries.clear();
    this.count = 0;
    this.last = undefined;
    this.block = undefined;
    return this.blocks.splice(0);
  }

  /** How many rows there are. */
  get size(): number {
    return this.count;
  }

  /** How many rows there is room for. */
  get room(): number {
    return this.hashes.length;
  }

  /**
   * Adds a row whose query id and document id stand at `[queryStart, queryEnd)` and `[start, end)` of the block.
   *
   * @returns its number, which is that of the rows before it
   */
  add(block: Block, queryStart: number, queryEnd: number, start: number, end: number): number {
    if (this.block !== block) {
      this.block = block;
      this.blocks.push(block);
    }
    if (this.count === this.room) this.makeRoom(2 * this.count);
    const row = this.count++;
    this.blockOf[row] = this.blocks.length - 1;
    this.starts[row] = start;
    this.ends[row] = end;
    this.hashes[row] = hashOfBytes(block.bytes, start, end);
    const { ranges } = this.queryAt(block, queryStart, queryEnd);
    if (ranges[ranges.length - 1] === row) ranges[ranges.length - 1] = row + 1;
    else ranges.push(row, row + 1);
    return row;
  }

  /**
   * Makes room for rows of these blocks, to be filled by the caller, instead of all rows that there are.
   *
   * @returns the columns, each with at least as many places
   */
  fill(blocks: readonly Block[], rows: number) {
    this.clear();
    for (const block of blocks) this.blocks.push(block);
    if (rows > this.room) this.makeRoom(rows);
    this.count = rows;
    const { blockOf, starts, ends, hashes } = this;
    return { blockOf, starts, ends, hashes };
  }

  /** The rows `[start, end)` are those of a query. */
  setQuery(queryId: string, start: number, end: number): void {
    this.queries.set(queryId, { ranges: [start, end] });
  }

  /** Whether a query id is that of the last row. */
  isOfLastQuery({ bytes }: Block, start: number, end: number): boolean {
    const { lastId } = this;
    if (this.last === undefined || end - start !== this.lastIdLength) return false;
    for (let i = start; i < end; i++) if (bytes[i] !== lastId[i - start]) return false;
    return true;
  }

  /**
   * Adds results of a run from `start` on, as long as they are of the query of the row before and written as nearly all
   * are: the six columns of TREC with one separator between them. A large run is mostly such lines, and one loop over
   * their bytes, which makes nothing for a line, takes six tenths of what it takes to find columns first and read them then.
   *
   * @param blank what separates columns beside a tab: a space, or nothing (a tab) where ids may hold spaces
   * @param scores and ranks are set for each row
   * @returns where the first line stands that is another one, or is for others to read or to refuse
   */
  goOn(block: Block, start: number, blank: number, scores: Float64Array, ranks: Int32Array): number {
    const { bytes } = block;
    const { starts, ends, hashes, blockOf, lastId, lastIdLength } = this;
    const ranges = this.last?.ranges ?? [];
    const from = this.count;
    const { length } = bytes;
    if (this.block !== block || ranges[ranges.length - 1] !== from || bytes[length - 1] !== LINE_FEED) return start;
    const blockNumber = this.blocks.length - 1;
    const room = hashes.length;
    let line = start;
    let row = from;
    for (; row < room && line < length; row++) {
      let i = 0;
      while (i < lastIdLength && bytes[line + i] === lastId[i]) i++;
      if (i < lastIdLength) break;
      i += line;
      if (!parts(bytes, i++, blank) || !isWord(bytes, i)) break;
      // The second column.
      do i++;
      while (isInWord(bytes, i, blank));
      if (!parts(bytes, i++, blank) || !isWord(bytes, i)) break;
      const idStart = i;
      let hash = HASH_OF_NOTHING;
      do hash = hashOf(hash, bytes[i++] ?? 0);
      while (isInWord(bytes, i, blank));
      const idEnd = i;
      if (bytes[i - 1] === SPACE || !parts(bytes, i++, blank)) break;
      const rankStart = i;
      let rank = 0;
      for (let digit = (bytes[i] ?? 0) - ZERO; digit >= 0 && digit <= 9; digit = (bytes[++i] ?? 0) - ZERO)
        rank = (rank * 10 + digit) | 0;
      if (i === rankStart || i - rankStart > EXACT_RANK || !parts(bytes, i++, blank) || !isWord(bytes, i)) break;
      const scoreStart = i;
      do i++;
      while (isWord(bytes, i));
      const score = parseScore(bytes, scoreStart, i);
      if (Number.isNaN(score) || !parts(bytes, i++, blank) || !isWord(bytes, i)) break;
      // The tag.
      do i++;
      while (isInWord(bytes, i, blank));
      if (bytes[i] === CARRIAGE_RETURN) i++;
      if (bytes[i] !== LINE_FEED) break;
      blockOf[row] = blockNumber;
      starts[row] = idStart;
      ends[row] = idEnd;
      hashes[row] = hash;
      scores[row] = score;
      ranks[row] = rank;
      line = i + 1;
    }
    this.count = row;
    ranges[ranges.length - 1] = row;
    return line;
  }

  /** The document id of a row. */
  text(row: number): string {
    return this.blockAt(row).slice(this.starts[row] ?? 0, this.ends[row] ?? 0);
  }

  /** Whether a row has the document id of a row of this file or another. */
  equals(row: number, other: DocumentRows, otherRow: number): boolean {
    const start = this.starts[row] ?? 0;
    const otherStart = other.starts[otherRow] ?? 0;
    const length = (this.ends[row] ?? 0) - start;
    if ((other.ends[otherRow] ?? 0) - otherStart !== length) return false;
    const { bytes } = this.blockAt(row);
    const { bytes: otherBytes } = other.blockAt(otherRow);
    for (let i = 0; i < length; i++) if (bytes[start + i] !== otherBytes[otherStart + i]) return false;
    return true;
  }

  /** Order of the document ids of two rows by their UTF-8, which is that of their code points. */
  compare(a: number, b: number): number {
    const [aStart, bStart] = [this.starts[a] ?? 0, this.starts[b] ?? 0];
    const [aLength, bLength] = [(this.ends[a] ?? 0) - aStart, (this.ends[b] ?? 0) - bStart];
    const [{ bytes: aBytes }, { bytes: bBytes }] = [this.blockAt(a), this.blockAt(b)];
    for (let i = 0; i < Math.min(aLength, bLength); i++) {
      const difference = (aBytes[aStart + i] ?? 0) - (bBytes[bStart + i] ?? 0);
      if (difference !== 0) return difference;
    }
    return aLength - bLength;
  }

  /** The query of the line before is tried first, by comparing bytes, before a string is made. */
  private queryAt(block: Block, start: number, end: number): QueryRows {
    if (this.last !== undefined && this.isOfLastQuery(block, start, end)) return this.last;
    const { bytes } = block;
    const id = bytes.toString('utf8', start, end);
    let query = this.queries.get(id);
    if (query === undefined) {
      query = { ranges: [] };
      this.queries.set(id, query);
    }
    this.last = query;
    this.lastIdLength = end - start;
    if (this.lastId.length < this.lastIdLength) this.lastId = new Uint8Array(2 * this.lastIdLength);
    bytes.copy(this.lastId, 0, start, end);
    return query;
  }

  private blockAt(row: number): Block {
    const block = this.blocks[this.blockOf[row] ?? 0];
    if (block === undefined) throw new Error('a row of a TREC file stands in no block');
    return block;
  }

  private makeRoom(room: number): void {
    this.blockOf = enlarged(new Uint32Array(room), this.blockOf);
    this.starts = enlarged(new Uint32Array(room), this.starts);
    this.ends = enlarged(new Uint32Array(room), this.ends);
    this.hashes = enlarged(new Int32Array(room), this.hashes);
  }
}

/** How many rows a query has. */
export function countOf({ ranges }: QueryRows): number {
  let count = 0;
  for (let i = 0; i < ranges.length; i += 2) count += (ranges[i + 1] ?? 0) - (ranges[i] ?? 0);
  return count;
}

export function enlarged<Numbers extends Uint32Array | Int32Array | Float64Array>(
  target: Numbers,
  source: Numbers,
): Numbers {
  target.set(source);
  return target;
}

/** FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
export const HASH_OF_NOTHING = 0x811c9dc5 | 0;
export const hashOf = (before: number, byte: number): number => Math.imul(before ^ byte, 0x01000193);

export function hashOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = HASH_OF_NOTHING;
  for (let i = start; i < end; i++) hash = hashOf(hash, bytes[i] ?? 0);
  return hash;
}

/** Whether columns are separated here: by a tab, or by what may separate them beside it. */
export const parts = (bytes: Uint8Array, at: number, blank: number): boolean =>
  bytes[at] === TAB || bytes[at] === blank;
/** Whether a column goes on here, with a space in it where only tabs separate columns. */
export const isInWord = (bytes: Uint8Array, at: number, blank: number): boolean =>
  (bytes[at] ?? 0) > SPACE || (bytes[at] === SPACE && blank !== SPACE);
/** Nothing that parts columns or ends a line; a column with a control character in it is for others to read. */
export const isWord = (bytes: Uint8Array, at: number): boolean => (bytes[at] ?? 0) > SPACE;

/** Numbers the documents of one query, of any file, by their ids. Its buffers are used again for the next query. */
export class DocumentSet {
  private owners: DocumentRows[] = [];
  private rows = new Int32Array(256);
  private hashes = new Int32Array(256);
  private count = 0;
  /** `stamp` + number of the document, so that the documents before it was emptied are free slots. */
  private slots = new Int32Array(512);
  private stamp = 1;

  /** How many documents there are. */
  get size(): number {
    return this.count;
  }

  /** Empties it for so many rows at most. */
  empty(room: number): void {
    this.stamp += this.count;
    this.count = 0;
    const isFull = this.stamp + room > 2 ** 31 - 1;
    if (this.rows.length < room) {
      this.rows = new Int32Array(2 ** Math.ceil(Math.log2(room)));
      this.hashes = new Int32Array(this.rows.length);
      this.slots = new Int32Array(2 * this.rows.length);
      this.stamp = 1;
    } else if (isFull) {
      this.slots.fill(0);
      this.stamp = 1;
    }
  }

  /** The number of the document of a row: that which it has, or that of the next one. */
  add(documents: DocumentRows, row: number): number {
    const { slots, rows, hashes, owners, stamp } = this;
    const hash = documents.hashes[row] ?? 0;
    const mask = slots.length - 1;
    // At most half of the slots are taken.
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const number = (slots[slot] ?? 0) - stamp;
      if (number < 0) {
        slots[slot] = stamp + this.count;
        rows[this.count] = row;
        hashes[this.count] = hash;
        owners[this.count] = documents;
        return this.count++;
      }
      if (hashes[number] === hash && owners[number]?.equals(rows[number] ?? 0, documents, row) === true) return number;
    }
  }

  /** The row by which a document was added first. */
  rowOf(number: number): number {
    return this.rows[number] ?? 0;
  }
}
