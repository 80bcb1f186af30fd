/** Compactly stores the results of a run whose lines are in any order, and passes them to a handler query by query. */
import { Block } from './blocks.ts';
import {
  enlarged,
  type FoundResult,
  HASH_OF_NOTHING,
  hashOf,
  hashOfBytes,
  isInWord,
  isWord,
  type LineIds,
  newResult,
  readUsualResult,
} from './document-rows.ts';
import { ResultTable } from './result-table.ts';

const [TAB, LINE_FEED, SPACE] = [0x09, 0x0a, 0x20] as const;

const NOTHING = Buffer.alloc(0);
const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

/** Number of bytes of the file per partition, so that a partition fits into the processor cache while it is scored. */
const PARTITION_BYTES = 2 ** 20;
const [MIN_PARTITIONS, MAX_PARTITIONS] = [64, 1024] as const;

/**
 * Stores the document id, score and rank of each result, partitioned by query, so that the results of a query are close
 * together in memory, even if they are scattered in the file.
 */
export class RunPartitions {
  private readonly queries = new QueryNumbers();
  /** Indexed by query number: 1 for a query with judgments, otherwise 0. */
  private isJudged = new Uint8Array(1024);
  private readonly partitions: Partition[];
  private readonly isJudgedQuery: (queryId: string) => boolean;
  private readonly found = newResult();
  private readonly scoreWords = new Int32Array(this.found.score.buffer);
  private bytes: Buffer = NOTHING;
  /** View of the whole buffer that `bytes` is part of. */
  private view: DataView = new DataView(NOTHING.buffer);
  private count = 0;

  /**
   * @param fileBytes size of the file in bytes; 0 if unknown
   * @param isJudgedQuery called once per query id; results of other queries are counted but not stored
   */
  constructor(fileBytes: number, isJudgedQuery: (queryId: string) => boolean) {
    this.isJudgedQuery = isJudgedQuery;
    const wanted = 2 ** Math.ceil(Math.log2(Math.max(1, fileBytes / PARTITION_BYTES)));
    const partitions = Math.min(MAX_PARTITIONS, Math.max(MIN_PARTITIONS, wanted));
    this.partitions = Array.from({ length: partitions }, () => new Partition());
  }

  /** Number of results, including results of queries without judgments. */
  get size(): number {
    return this.count;
  }

  add({ bytes }: Block, { queryStart, queryEnd, start, end }: LineIds, score: number, rank: number): void {
    this.setBytes(bytes);
    this.found.score[0] = score;
    Object.assign(this.found, { start, end, rank, hash: hashOfBytes(bytes, start, end) });
    this.store(this.numberOf(bytes, queryStart, queryEnd, hashOfBytes(bytes, queryStart, queryEnd)));
  }

  /**
   * Adds lines, beginning at `start`, up to the first line that does not have the usual form; see `readUsualResult`.
   *
   * @returns the start of the first line that has another form
   */
  goOn({ bytes }: Block, start: number, hasTabs: boolean): number {
    const { length } = bytes;
    if (bytes[length - 1] !== LINE_FEED) return start;
    this.setBytes(bytes);
    const blank = hasTabs ? TAB : SPACE;
    let line = start;
    while (line < length) {
      let i = line;
      // The caller handles a byte order mark and comments.
      if (!isWord(bytes, i) || bytes[i] === 0xef || bytes[i] === 0x23) break;
      let hash = HASH_OF_NOTHING;
      do hash = hashOf(hash, bytes[i++] ?? 0);
      while (isInWord(bytes, i, blank));
      const next = bytes[i - 1] === SPACE ? -1 : readUsualResult(bytes, i, blank, this.found);
      if (next === -1) break;
      this.store(this.numberOf(bytes, line, i, hash));
      line = next;
    }
    return line;
  }

  private setBytes(bytes: Buffer): void {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer);
  }

  /** Passes all results to the handler in groups of whole queries; the table is emptied after each call. */
  drain(handle: (results: ResultTable) => void): void {
    const table = new ResultTable();
    for (const [index, partition] of this.partitions.entries()) {
      partition.addTo(table, index, this.partitions.length, this.queries);
      handle(table);
      table.clear();
      this.partitions[index] = new Partition();
    }
  }

  private numberOf(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const known = this.queries.size;
    const number = this.queries.numberOf(bytes, start, end, hash);
    if (number === known) {
      if (this.isJudged.length <= number) this.isJudged = enlarged(new Uint8Array(2 * number), this.isJudged);
      this.isJudged[number] = this.isJudgedQuery(this.queries.text(number)) ? 1 : 0;
    }
    return number;
  }

  private store(query: number): void {
    this.count++;
    if (this.isJudged[query] === 0) return;
    const { partitions } = this;
    this.queries.countResult(query);
    const partition = partitions[query & (partitions.length - 1)];
    partition?.add(query, this.found, this.scoreWords, this.bytes, this.view);
  }
}

interface Piece {
  readonly words: Int32Array;
  readonly bytes: Buffer;
  /** Number of 32-bit words in use. */
  filled: number;
}

/** Number of words per piece; a piece is larger if a single record needs more. */
const PIECE_WORDS = 8 * 1024;
const WORD = 4;

/** Number of words in a record before the bytes of its document id. */
const HEAD = 6;
const [QUERY_WORD, LENGTH_WORD, HASH_WORD, RANK_WORD, SCORE_WORD] = [0, 1, 2, 3, 4] as const;
const wordsOf = (idBytes: number): number => HEAD + ((idBytes + WORD - 1) >> 2);

/** Results of a group of queries, as consecutive records. */
class Partition {
  private readonly pieces: Piece[] = [];
  private last: Piece | undefined;
  private count = 0;

  /** @param score the two words of a double */
  add(
    query: number,
    { start, end, hash, rank }: Readonly<FoundResult>,
    score: Int32Array,
    bytes: Buffer,
    view: DataView,
  ): void {
    const length = end - start;
    const size = wordsOf(length);
    let piece = this.last;
    if (piece === undefined || piece.filled + size > piece.words.length) {
      const words = new Int32Array(Math.max(PIECE_WORDS, size));
      piece = { words, bytes: Buffer.from(words.buffer), filled: 0 };
      this.last = piece;
      this.pieces.push(piece);
    }
    const { words, bytes: target, filled: at } = piece;
    words[at + QUERY_WORD] = query;
    words[at + LENGTH_WORD] = length;
    words[at + HASH_WORD] = hash;
    words[at + RANK_WORD] = rank;
    words[at + SCORE_WORD] = score[0] ?? 0;
    words[at + SCORE_WORD + 1] = score[1] ?? 0;
    if (view.byteLength - bytes.byteOffset - end >= WORD) {
      // Copies whole words, which may include bytes after the id; these are never read.
      const from = bytes.byteOffset + start;
      for (let i = 0, to = at + HEAD; i < length; i += WORD) words[to++] = view.getInt32(from + i, IS_LITTLE_ENDIAN);
    } else {
      bytes.copy(target, WORD * (at + HEAD), start, end);
    }
    piece.filled = at + size;
    this.count++;
  }

  /**
   * Adds to the table the results of query number `first` and of every `step`-th query after it. Keeps the file order
   * within each query.
   */
  addTo(table: ResultTable, first: number, step: number, queries: QueryNumbers): void {
    if (this.count === 0) return;
    const columns = table.fill(
      this.pieces.map(({ bytes }) => Block.ofParts(bytes)),
      this.count,
    );
    const { blockOf, starts, ends, hashes, scores, ranks } = columns;
    // A counting sort by query, because the number of results per query is known.
    const next = new Int32Array(queries.size);
    let rows = 0;
    for (let query = first; query < queries.size; query += step) {
      next[query] = rows;
      const results = queries.countOf(query);
      if (results > 0) table.setQuery(queries.text(query), rows, rows + results);
      rows += results;
    }
    const score = new Float64Array(1);
    const scoreWords = new Int32Array(score.buffer);
    for (const [index, { words, filled }] of this.pieces.entries()) {
      for (let at = 0; at < filled; ) {
        const query = words[at + QUERY_WORD] ?? 0;
        const length = words[at + LENGTH_WORD] ?? 0;
        const row = next[query] ?? 0;
        next[query] = row + 1;
        scoreWords[0] = words[at + SCORE_WORD] ?? 0;
        scoreWords[1] = words[at + SCORE_WORD + 1] ?? 0;
        const start = WORD * (at + HEAD);
        blockOf[row] = index;
        starts[row] = start;
        ends[row] = start + length;
        hashes[row] = words[at + HASH_WORD] ?? 0;
        ranks[row] = words[at + RANK_WORD] ?? 0;
        scores[row] = score[0] ?? 0;
        at += wordsOf(length);
      }
    }
  }
}

/** Assigns numbers to distinct query ids, from 0 in order of appearance. Compares ids by their bytes. */
class QueryNumbers {
  /** For each slot, the number of its query plus 1; 0 for a free slot. */
  private slots = new Int32Array(2048);
  private hashes = new Int32Array(1024);
  private ends = new Int32Array(1024);
  private counts = new Int32Array(1024);
  private bytes = Buffer.alloc(16 * 1024);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Returns the number of an id; a new id gets the next number. */
  numberOf(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const { slots, hashes } = this;
    const mask = slots.length - 1;
    let slot = (hash ^ (hash >>> 15)) & mask;
    for (; ; slot = (slot + 1) & mask) {
      const number = (slots[slot] ?? 0) - 1;
      if (number < 0) break;
      if (hashes[number] === hash && this.equals(number, bytes, start, end)) return number;
    }
    slots[slot] = this.count + 1;
    return this.append(bytes, start, end, hash);
  }

  countResult(number: number): void {
    this.counts[number] = (this.counts[number] ?? 0) + 1;
  }

  countOf(number: number): number {
    return this.counts[number] ?? 0;
  }

  text(number: number): string {
    return this.bytes.toString('utf8', this.startOf(number), this.ends[number]);
  }

  private startOf(number: number): number {
    return number === 0 ? 0 : (this.ends[number - 1] ?? 0);
  }

  private equals(number: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.startOf(number);
    if ((this.ends[number] ?? 0) - from !== end - start) return false;
    for (let i = start; i < end; i++) if (this.bytes[from + i - start] !== bytes[i]) return false;
    return true;
  }

  private append(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const number = this.count++;
    const from = this.startOf(number);
    const to = from + end - start;
    if (to > this.bytes.length) {
      const more = Buffer.alloc(2 * to);
      this.bytes.copy(more);
      this.bytes = more;
    }
    this.bytes.set(bytes.subarray(start, end), from);
    this.ends[number] = to;
    this.hashes[number] = hash;
    // Grows the table, so that at most half of the slots are used.
    if (this.count === this.hashes.length) this.grow();
    return number;
  }

  private grow(): void {
    this.hashes = enlarged(new Int32Array(2 * this.count), this.hashes);
    this.ends = enlarged(new Int32Array(2 * this.count), this.ends);
    this.counts = enlarged(new Int32Array(2 * this.count), this.counts);
    this.slots = new Int32Array(4 * this.count);
    const mask = this.slots.length - 1;
    for (let number = 0; number < this.count; number++) {
      const hash = this.hashes[number] ?? 0;
      let slot = (hash ^ (hash >>> 15)) & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = number + 1;
    }
  }
}
