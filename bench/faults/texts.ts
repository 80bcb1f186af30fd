/** Modified texts that faults put into the store or the traffic, each with a recorded vector. */

/** Shares of the words that remain in truncated chunks. */
export const PREFIXES = [0.25, 0.1] as const;

/** Returns the two halves of a text, split between words. */
export function halvesOf(text: string): [string, string] {
  const words = text.split(' ');
  const half = Math.ceil(words.length / 2);
  return [words.slice(0, half).join(' '), words.slice(half).join(' ') || text];
}

/** Returns the first words of a text: `share` (0 to 1) of all words, but at least three. */
export function prefixOf(text: string, share: number): string {
  const words = text.split(' ');
  return words.slice(0, Math.max(3, Math.round(share * words.length))).join(' ');
}

/** Returns the three longest words of a query, in their original order, as a user of keyword search would type them. */
export function terse(text: string): string {
  const words = text.replaceAll(/[?¿!¡.,;:"„“”()]/g, '').split(' ');
  const longest = new Set(words.toSorted((a, b) => b.length - a.length).slice(0, 3));
  return words.filter((word, at) => longest.has(word) && words.indexOf(word) === at).join(' ');
}
