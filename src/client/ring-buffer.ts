/** A queue of fixed capacity in which every operation takes constant time; it drops nothing by itself. */
export class RingBuffer<T> {
  readonly #slots: (T | undefined)[];
  #first = 0;
  #length = 0;

  constructor(capacity: number) {
    this.#slots = Array.from({ length: capacity });
  }

  get length(): number {
    return this.#length;
  }

  /** The oldest element, undefined when there is none. */
  get first(): T | undefined {
    return this.#slots[this.#first];
  }

  /** Adds the newest element. Throws RangeError when the buffer is full. */
  push(element: T): void {
    this.#assertRoom();
    this.#slots[(this.#first + this.#length) % this.#slots.length] = element;
    this.#length += 1;
  }

  /** Puts an element back before the oldest. Throws RangeError when the buffer is full. */
  unshift(element: T): void {
    this.#assertRoom();
    this.#first = (this.#first + this.#slots.length - 1) % this.#slots.length;
    this.#slots[this.#first] = element;
    this.#length += 1;
  }

  /** Removes and returns the oldest element, undefined when there is none. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const element = this.#slots[this.#first];
    // An element that has left must not be kept alive by its slot.
    this.#slots[this.#first] = undefined;
    this.#first = (this.#first + 1) % this.#slots.length;
    this.#length -= 1;
    return element;
  }

  #assertRoom(): void {
    if (this.#length === this.#slots.length) throw new RangeError('The ring buffer is full.');
  }
}
