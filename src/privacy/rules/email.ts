/** E-mail addresses. */
import type { Detector, Span } from './detector.ts';

/** RFC 5321 allows 64 characters before the at sign and 255 after it. */
const MOST_LOCAL = 64;
const MOST_DOMAIN = 255;

/** Scripts whose words are set apart by spaces; in others the words around an address touch it. */
const spacedLetter = /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]$/u;
const anyLetter = /^[\p{L}\p{M}]$/u;
/** Of the signs that RFC 5322 allows, those that people use; the others set an address apart in URLs and code. */
const localSign = /^[0-9.!#$%'+_~-]$/;
const domainSign = /^[0-9.-]$/;
/** The last label of a domain, from its start: letters, or a name in Punycode. */
const topLevel = /^(?:xn--[0-9a-z-]{1,59}|[\p{L}\p{M}]{2,63})/iu;

/**
 * Addresses `local@domain.tld`, with letters of any script on either side, quoted local parts too. An address without
 * a dot after the at sign is none: too much code has that form. Each at sign is looked at once, over at most 64
 * characters before it and 255 after it.
 */
export const email: Detector = {
  kind: 'email',
  find: (text) => {
    const spans: Span[] = [];
    let previousEnd = 0;
    for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
      const start = Math.max(previousEnd, localStart(text, at));
      const end = domainEnd(text, at + 1);
      if (start === at || end === null) continue;
      spans.push({ start, end });
      previousEnd = end;
    }
    return spans;
  },
};

function localStart(text: string, at: number): number {
  if (text[at - 1] === '"') {
    const quote = text.slice(Math.max(0, at - MOST_LOCAL), at - 1).lastIndexOf('"');
    if (quote !== -1) return Math.max(0, at - MOST_LOCAL) + quote;
  }
  let start = reach(text, at, -1, MOST_LOCAL, isSpacedLocal);
  if (start === at) start = reach(text, at, -1, MOST_LOCAL, isAnyLocal);
  // A quotation or a list may open right before an address, and a sentence may end there.
  const lead = /^['.!#~-]+/.exec(text.slice(start, at));
  return start + (lead?.[0].length ?? 0);
}

/** Where the domain from `start` ends: after the last label that can be a top level; null when there is none. */
function domainEnd(text: string, start: number): number | null {
  let stop = reach(text, start, 1, MOST_DOMAIN, isSpacedDomain);
  if (stop === start) stop = reach(text, start, 1, MOST_DOMAIN, isAnyDomain);
  let end: number | null = null;
  let position = start;
  for (const [index, label] of text.slice(start, stop).split('.').entries()) {
    if (label === '') break;
    const match = index > 0 ? topLevel.exec(label) : null;
    if (match !== null) end = position + match[0].length;
    position += label.length + 1;
  }
  return end;
}

/** The furthest index from `from`, forwards (1) or backwards (-1), with nothing but accepted characters between. */
function reach(
  text: string,
  from: number,
  step: 1 | -1,
  most: number,
  accepts: (character: string) => boolean,
): number {
  let index = from;
  const offset = step === 1 ? 0 : -1;
  while (Math.abs(index - from) < most && accepts(text.charAt(index + offset))) index += step;
  return index;
}

function isSpacedLocal(character: string): boolean {
  return spacedLetter.test(character) || localSign.test(character);
}

function isAnyLocal(character: string): boolean {
  return anyLetter.test(character) || localSign.test(character);
}

function isSpacedDomain(character: string): boolean {
  return spacedLetter.test(character) || domainSign.test(character);
}

function isAnyDomain(character: string): boolean {
  return anyLetter.test(character) || domainSign.test(character);
}
