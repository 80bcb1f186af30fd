/** Parses the list in a large JSON body, a few items at a time, so that other requests are served in between. */
import { StringDecoder } from 'node:string_decoder';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RecalldError } from '../../core/errors.ts';
import { parseJson } from './request-bodies.ts';

/** Maximum length of one item in characters; parsing a longer item would block the event loop for too long. */
const MAX_ITEM = 4 * 1024 * 1024;

/** Splits the list in `{"key": [...]}` into the text of each item while the body is being read. */
class ListSplitter {
  private readonly key: string;
  private text = '';
  private at = 0;
  private depth = 0;
  private isInString = false;
  private phase: 'head' | 'items' | 'tail' = 'head';
  private count = 0;

  constructor(key: string) {
    this.key = key;
  }

  /**
   * Appends a piece of the body, and returns the items that this piece completes.
   *
   * @throws RecalldError body_unreadable
   */
  take(more: string): string[] {
    this.text += more;
    if (this.phase === 'head' && !this.takeHead()) return [];
    const items: string[] = [];
    let start = 0;
    while (this.phase === 'items') {
      const end = this.endOfItem();
      if (end === -1) break;
      const item = this.text.slice(start, end).trim();
      const isLast = this.text[end] === ']';
      if (item !== '') items.push(item);
      else if (!isLast || this.count + items.length > 0) throw this.unreadable();
      start = end + 1;
      if (isLast) this.phase = 'tail';
    }
    this.count += items.length;
    this.text = this.text.slice(start);
    this.at = Math.max(0, this.at - start);
    if (this.text.length > MAX_ITEM) throw this.unreadable(` with items of at most ${MAX_ITEM} characters`);
    return items;
  }

  /** @throws RecalldError body_unreadable for a body that ends too early or has trailing text */
  end(): void {
    if (this.phase !== 'tail' || this.text.trim() !== '}') throw this.unreadable();
  }

  private takeHead(): boolean {
    const head = new RegExp(`^\\uFEFF?\\s*\\{\\s*"${this.key}"\\s*:\\s*\\[`).exec(this.text)?.[0];
    if (head === undefined) {
      if (this.text.length > 1024) throw this.unreadable();
      return false;
    }
    this.text = this.text.slice(head.length);
    this.phase = 'items';
    return true;
  }

  /** Returns the index of the comma or bracket after the next item; -1 if the text ends first. */
  private endOfItem(): number {
    const [inside, outside] = [/["\\]/g, /["[\]{},]/g];
    for (;;) {
      const mark = this.isInString ? inside : outside;
      mark.lastIndex = this.at;
      const found = mark.exec(this.text);
      if (found === null) {
        this.at = this.text.length;
        return -1;
      }
      const character = found[0];
      if (character === '\\') {
        // The escaped character may arrive with the next piece.
        if (found.index + 1 >= this.text.length) {
          this.at = found.index;
          return -1;
        }
        this.at = found.index + 2;
        continue;
      }
      this.at = found.index + 1;
      if (character === '"') this.isInString = !this.isInString;
      else if (this.depth === 0 && (character === ',' || character === ']')) return found.index;
      else if (character === '[' || character === '{') this.depth += 1;
      else if (character !== ',') this.depth -= 1;
    }
  }

  private unreadable(more = ''): RecalldError {
    return new RecalldError(
      'body_unreadable',
      `The body is not valid; a body above 1 MB must have the form {"${this.key}": [...]}${more}.`,
    );
  }
}

/**
 * Yields the list items, one batch per piece of the body. Removes each piece from `pieces`, so that its memory can be
 * freed while the remaining items are processed.
 *
 * @throws RecalldError body_unreadable
 */
export async function* listedItems(pieces: Buffer[], key: string): AsyncGenerator<unknown[]> {
  const splitter = new ListSplitter(key);
  const decoder = new StringDecoder('utf8');
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
    const items = splitter.take(decoder.write(piece)).map(parseJson);
    await nextTurn();
    if (items.length > 0) yield items;
  }
  splitter.take(decoder.end());
  splitter.end();
}
