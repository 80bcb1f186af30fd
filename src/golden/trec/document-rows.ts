/**
 * Indexes the lines of a TREC file by query. Document ids remain bytes; only ids that appear in messages are converted
 * to strings.
 */
import { parseScore } from '../../math/ir/trec-line.ts';
import type { Block } from './blocks.ts';

const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, ZERO] = [0x09, 0x0a, 0x0d, 0x20, 0x30] as const;

/** Ranks with at most this number of digits fit into 32 bits. */
const EXACT_RANK = 9;

/** Usual length of a line in bytes, and maximum initial capacity of the arrays, in rows. The arrays grow on demand. */
const [USUAL_LINE_BYTES, MAX_ROOM] = [40, 2 ** 24];

/** Positions of a line's two ids in a block. Each end is exclusive. */
export interface LineIds {
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly start: number;
  readonly end: number;
}

/**
 * A result whose document id is at `[start, end)`. The same object is reused for every line, so that no line needs an
 * allocation.
 */
export interface FoundResult {
  start: number;
  end: number;
  hash: number;
  rank: number;
  /**
   * An array with the score as its only element: if functions passed the score as a plain number, V8 would allocate an
   * object for each score.
   */
  readonly score: Float64Array;
}

export function newResult(): FoundResult {
  return { start: 0, end: 0, hash: 0, rank: 0, score: new Float64Array(1) };
}

/**
 * Reads the columns of a TREC result that follow the query id, if the line has the usual form. In this form, five
 * columns follow the query id, each after a single space or tab. Most lines of a large run have this form. This single
 * pass over the bytes takes 40 % less time than finding the columns first.
 *
 * @param at end of the query id
 * @param blank the separator besides the tab: a space, or the tab again if ids may contain spaces
 * @returns the start of the next line; -1 if the line has another form
 */
export function readUsualResult(bytes: Uint8Array, at: number, blank: number, found: FoundResult): number {
  let i = at;
  if (!parts(bytes, i++, blank) || !isWord(bytes, i)) return -1;
  // The second column.
  do i++;
  while (isInWord(bytes, i, blank));
  if (!parts(bytes, i++, blank) || !isWord(bytes, i)) return -1;
  found.start = i;
  let hash = HASH_OF_NOTHING;
  do hash = hashOf(hash, bytes[i++] ?? 0);
  while (isInWord(bytes, i, blank));
  found.end = i;
  found.hash = hash;
  if (bytes[i - 1] === SPACE || !parts(bytes, i++, blank)) return -1;
  const rankStart = i;
  let rank = 0;
  for (let digit = (bytes[i] ?? 0) - ZERO; digit >= 0 && digit <= 9; digit = (bytes[++i] ?? 0) - ZERO)
    rank = (rank * 10 + digit) | 0;
  found.rank = rank;
  if (i === rankStart || i - rankStart > EXACT_RANK || !parts(bytes, i++, blank) || !isWord(bytes, i)) return -1;
  const scoreStart = i;
  do i++;
  while (isWord(bytes, i));
  const score = parseScore(bytes, scoreStart, i);
  found.score[0] = score;
  if (Number.isNaN(score) || !parts(bytes, i++, blank) || !isWord(bytes, i)) return -1;
  // The tag.
  do i++;
  while (isInWord(bytes, i, blank));
  if (bytes[i] === CARRIAGE_RETURN) i++;
  return bytes[i] === LINE_FEED ? i + 1 : -1;
}

/**
 * Row ranges of a query: the start and the end of the first range, then those of the next range, and so on. Most
 * queries have contiguous lines and thus one range.
 */
export type QueryRows = number[];

/** Numbers the lines of a file from 0, and stores the position of each document id. */
export class DocumentRows {
  readonly queries = new Map<string, QueryRows>();
  hashes: Int32Array;
  protected readonly blocks: Block[] = [];
  protected block: Block | undefined;
  protected blockOf: Uint32Array;
  protected starts: Uint32Array;
  protected ends: Uint32Array;
  protected count = 0;
  protected lastId = new Uint8Array(64);
  protected lastIdLength = 0;
  protected last: QueryRows | undefined;

  /**
   * @param fileBytes size of the file, which determines the initial capacity; capacity that remains unused is never
   *   written to
   */
  constructor(fileBytes = 0) {
    const room = Math.min(MAX_ROOM, Math.max(1024, Math.ceil(fileBytes / USUAL_LINE_BYTES)));
    this.blockOf = new Uint32Array(room);
    this.starts = new Uint32Array(room);
    this.ends = new Uint32Array(room);
    this.hashes = new Int32Array(room);
  }

  /** Removes all rows, and returns their blocks; this object no longer reads these blocks. */
  clear(): readonly Block[] {
    this.queries.clear();
    this.count = 0;
    this.last = undefined;
    this.block = undefined;
    return this.blocks.splice(0);
  }

  get size(): number {
    return this.count;
  }

  /** Capacity of the arrays, in rows. */
  get room(): number {
    return this.hashes.length;
  }

  /** Adds a row and returns its number. */
  protected addRow(block: Block, { queryStart, queryEnd, start, end }: LineIds): number {
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
    const ranges = this.queryAt(block, queryStart, queryEnd);
    if (ranges[ranges.length - 1] === row) ranges[ranges.length - 1] = row + 1;
    else ranges.push(row, row + 1);
    return row;
  }

  /**
   * Replaces all rows with uninitialized rows for these blocks. Returns the columns, which the caller must fill; each
   * has room for at least `rows` values.
   */
  fill(blocks: readonly Block[], rows: number) {
    this.clear();
    for (const block of blocks) this.blocks.push(block);
    if (rows > this.room) this.makeRoom(rows);
    this.count = rows;
    const { blockOf, starts, ends, hashes } = this;
    return { blockOf, starts, ends, hashes };
  }

  /** Assigns the rows `[start, end)` to a query. */
  setQuery(queryId: string, start: number, end: number): void {
    this.queries.set(queryId, [start, end]);
  }

  /** True if the bytes `[start, end)` are the query id of the previous row. */
  isOfLastQuery({ bytes }: Block, start: number, end: number): boolean {
    const { lastId } = this;
    if (this.last === undefined || end - start !== this.lastIdLength) return false;
    for (let i = start; i < end; i++) if (bytes[i] !== lastId[i - start]) return false;
    return true;
  }

  text(row: number): string {
    return this.blockAt(row).slice(this.starts[row] ?? 0, this.ends[row] ?? 0);
  }

  /** True if two rows, which may belong to different files, have the same document id. */
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

  /** Compares the document ids of two rows by their UTF-8 bytes; the resulting order is the order of code points. */
  protected compareIds(a: number, b: number): number {
    const [aStart, bStart] = [this.starts[a] ?? 0, this.starts[b] ?? 0];
    const [aLength, bLength] = [(this.ends[a] ?? 0) - aStart, (this.ends[b] ?? 0) - bStart];
    const [{ bytes: aBytes }, { bytes: bBytes }] = [this.blockAt(a), this.blockAt(b)];
    for (let i = 0; i < Math.min(aLength, bLength); i++) {
      const difference = (aBytes[aStart + i] ?? 0) - (bBytes[bStart + i] ?? 0);
      if (difference !== 0) return difference;
    }
    return aLength - bLength;
  }

  /**
   * First compares the bytes with the query id of the previous line, so that most query ids need not be decoded to a
   * string.
   */
  private queryAt(block: Block, start: number, end: number): QueryRows {
    if (this.last !== undefined && this.isOfLastQuery(block, start, end)) return this.last;
    const { bytes } = block;
    const id = bytes.toString('utf8', start, end);
    let query = this.queries.get(id);
    if (query === undefined) {
      query = [];
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
    if (block === undefined) throw new Error('a row of a TREC file belongs to no block');
    return block;
  }

  /** Enlarges the columns; a subclass also enlarges its own columns. */
  protected makeRoom(room: number): void {
    this.blockOf = enlarged(new Uint32Array(room), this.blockOf);
    this.starts = enlarged(new Uint32Array(room), this.starts);
    this.ends = enlarged(new Uint32Array(room), this.ends);
    this.hashes = enlarged(new Int32Array(room), this.hashes);
  }
}

export function countOf(ranges: Readonly<QueryRows>): number {
  let count = 0;
  for (let i = 0; i < ranges.length; i += 2) count += (ranges[i + 1] ?? 0) - (ranges[i] ?? 0);
  return count;
}

export function enlarged<Numbers extends Uint8Array | Uint32Array | Int32Array | Float64Array>(
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

/** True at a separator: a tab or `blank`. */
const parts = (bytes: Uint8Array, at: number, blank: number): boolean => bytes[at] === TAB || bytes[at] === blank;
/** True inside a column, which may contain spaces if only tabs separate columns. */
export const isInWord = (bytes: Uint8Array, at: number, blank: number): boolean =>
  (bytes[at] ?? 0) > SPACE || (bytes[at] === SPACE && blank !== SPACE);
/** True if the byte is part of a word: it is not a separator, a line end or a control character. */
export const isWord = (bytes: Uint8Array, at: number): boolean => (bytes[at] ?? 0) > SPACE;

/** Numbers the distinct documents of one query across files. The buffers of the set are reused for the next query. */
export class DocumentSet {
  private owners: DocumentRows[] = [];
  private rows = new Int32Array(256);
  private hashes = new Int32Array(256);
  private count = 0;
  /**
   * Each used slot contains `stamp` plus the number of a document. Slots that were written before the last call to
   * `empty` count as free.
   */
  private slots = new Int32Array(512);
  private stamp = 1;

  get size(): number {
    return this.count;
  }

  /** Empties the set and makes room for this number of rows. */
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

  /** Returns the number of the row's document. Adds the document with a new number if it is not in the set yet. */
  add(documents: DocumentRows, row: number): number {
    const { slots, rows, hashes, owners, stamp } = this;
    const hash = documents.hashes[row] ?? 0;
    const mask = slots.length - 1;
    // The loop ends, because `empty` makes the table so large that at most half of the slots are used.
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

  /** Returns the first row that was added for the document with this number. */
  rowOf(number: number): number {
    return this.rows[number] ?? 0;
  }
}
