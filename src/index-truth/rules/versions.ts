/** Whether chunks of more than one version of a document are live. */

/** A chunk of one document. */
interface Chunk {
  readonly version: string | null;
  readonly content: string | null;
}

/** Words that make a piece of a text that is compared. */
const PIECE = 5;
/** A shorter text, such as a heading, may stand in a document twice. */
const MIN_WORDS = 20;
/** Windows of one text that overlap by half share a third of their pieces. */
const SAME_TEXT = 0.7;

/**
 * By the number of chunks, where the manifest says it, and by their versions, where the store has any; else by their
 * texts: of one version no two chunks say nearly the same.
 *
 * @param expected how many chunks the document has
 * @returns null where nothing says it
 */
export function isSuperseded(chunks: readonly Chunk[], expected: number | null): boolean | null {
  if (expected !== null && chunks.length > expected) return true;
  const versions = new Set(chunks.flatMap(({ version }) => version ?? []));
  if (versions.size > 0) return versions.size > 1;
  const texts = chunks.flatMap(({ content }) => content ?? []);
  if (texts.length === 0) return expected === null && chunks.length > 1 ? null : false;
  const pieces = texts.map(piecesOf).filter(({ size }) => size > MIN_WORDS - PIECE);
  return pieces.some((one, place) => pieces.slice(place + 1).some((other) => resemblance(one, other) >= SAME_TEXT));
}

function piecesOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(
    words.slice(0, Math.max(0, words.length - PIECE + 1)).map((_, at) => words.slice(at, at + PIECE).join(' ')),
  );
}

/** Shared pieces of all pieces of both (Broder 1997). */
function resemblance(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const piece of one) if (other.has(piece)) shared += 1;
  return shared / (one.size + other.size - shared);
}

/**
 * Whether the store has this version of a document: a chunk says its hash, or its time to the second.
 *
 * @param version as the manifest says it
 */
export function hasVersion(chunks: readonly Pick<Chunk, 'version'>[], version: string): boolean {
  const time = Date.parse(version);
  return chunks.some(({ version: stored }) => {
    if (stored === null) return false;
    if (stored === version) return true;
    // Digits alone are a number, and no year.
    return !/^\d+$/.test(stored) && Math.abs(Date.parse(stored) - time) < 1000;
  });
}
