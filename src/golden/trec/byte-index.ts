/** Document ids as the bytes of a file: compared, hashed and looked up without a string for each of a million. */

/** FNV-1a, 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
export function hashOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193);
  return hash;
}

/** Order of two stretches of UTF-8, which is that of their code points: negative, zero or positive. */
export function compareBytes(a: Stretch, b: Stretch): number {
  const length = Math.min(a.end - a.start, b.end - b.start);
  for (let i = 0; i < length; i++) {
    const difference = (a.bytes[a.start + i] ?? 0) - (b.bytes[b.start + i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.end - a.start - (b.end - b.start);
}

/** `bytes[start, end)`. */
export interface Stretch {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

const FREE = -1;

/** Numbers stretches of bytes from 0 by their content, in the order in which they were first added. */
export class ByteIndex {
  private slots = new Int32Array(256).fill(FREE);
  private bytes: Uint8Array[] = [];
  private starts = new Int32Array(128);
  private ends = new Int32Array(128);
  private hashes = new Int32Array(128);
  private count = 0;

  /** Forgets everything, and makes room for so many. */
  clear(room: number): void {
    this.count = 0;
    if (room <= this.starts.length) {
      this.slots.fill(FREE);
      return;
    }
    const size = 2 ** Math.ceil(Math.log2(room));
    this.slots = new Int32Array(2 * size).fill(FREE);
    this.bytes = [];
    this.starts = new Int32Array(size);
    this.ends = new Int32Array(size);
    this.hashes = new Int32Array(size);
  }

  /** The number of what has this content; -1 when nothing has. */
  find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    return this.slots[this.slotOf(bytes, start, end, hash)] ?? FREE;
  }

  /** Adds it, unless it is there; says whether it is new. No more may be added than there is room for. */
  add(bytes: Uint8Array, start: number, end: number, hash: number): boolean {
    const slot = this.slotOf(bytes, start, end, hash);
    if (this.slots[slot] !== FREE) return false;
    const entry = this.count++;
    this.slots[slot] = entry;
    this.bytes[entry] = bytes;
    this.starts[entry] = start;
    this.ends[entry] = end;
    this.hashes[entry] = hash;
    return true;
  }

  /** The slot of this content, or the free one where it belongs. At most half of them are taken. */
  private slotOf(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const { slots, hashes } = this;
    const mask = slots.length - 1;
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const entry = slots[slot] ?? FREE;
      if (entry === FREE || (hashes[entry] === hash && this.holds(entry, bytes, start, end))) return slot;
    }
  }

  private holds(entry: number, bytes: Uint8Array, start: number, end: number): boolean {
    const own = this.bytes[entry] ?? bytes;
    const from = this.starts[entry] ?? 0;
    if ((this.ends[entry] ?? 0) - from !== end - start) return false;
    for (let i = start; i < end; i++) if (own[from + i - start] !== bytes[i]) return false;
    return true;
  }
}
