/** Classifies query texts by how they are written, whatever their topic or language. */

/** Each pattern matches texts that faulty clients send and users rarely type. */
const malformed: readonly RegExp[] = [
  // Percent escapes of a space, of punctuation, or of a UTF-8 sequence.
  /%(?:20|2[2-9a-f]|3[a-f]|5[b-e]|7[b-d]|c[2-9a-f]%[89ab][0-9a-f]|[de][0-9a-f]%[89ab][0-9a-f])/iu,
  // HTML entities and tags.
  /&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#x[0-9a-f]{1,6});|<\/?[a-z][a-z0-9]*(?:\s[^<>]*)?>/iu,
  // Escape sequences of a string literal.
  /\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|")/iu,
  // UTF-8 that was decoded as Latin-1 or Windows-1252, characters that could not be decoded, and control characters.
  /[\u00C2\u00C3][\u0080-\u00BF]|\u00E2[\u0080\u20AC]|\uFFFD|(?!\s)\p{Cc}/u,
  // Placeholders that were not filled in, and printed values that were not strings.
  /\{\{[^{}]*\}\}|\$\{[^{}]*\}|\[object \w+\]|^(?:undefined|null|NaN)$/u,
];

/**
 * Returns true if the text contains percent escapes, HTML, escape sequences, wrongly decoded characters, control
 * characters or unfilled placeholders, or if it is not a query at all, such as `undefined` or `[object Object]`.
 */
export function isMalformed(text: string): boolean {
  return malformed.some((pattern) => pattern.test(text));
}

/** Returns true if the text contains no capital letter, digit or punctuation mark, as in keywords or transcripts. */
export function isPlain(text: string): boolean {
  return !/[\p{Lu}\p{N}\p{P}]/u.test(text);
}
