/** What generating questions costs, estimated on the high side before any is generated. */

export interface TokenPrices {
  /** Price of a million tokens, in US dollars as in the config. */
  readonly input: number;
  readonly output: number;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** Tokens of an answer that may not be exceeded. */
export const MOST_OUTPUT_TOKENS = 300;
/** Tokens of a usual answer. */
const USUAL_OUTPUT_TOKENS = 50;
/** Tokens of the role and the separators of each message. */
const MESSAGE_TOKENS = 8;
/** Calls for each question that stays; the others are repairs, or questions that are dropped again. */
const CALLS_PER_QUESTION = 1.7;

/** A token is about four letters of English; other languages have more tokens, so bytes are counted, three a token. */
export function estimateTokens(texts: readonly string[]): number {
  const bytes = texts.reduce((sum, text) => sum + byteLength(text), 0);
  return Math.ceil(bytes / 3) + MESSAGE_TOKENS * texts.length;
}

export function costOf({ input, output }: Tokens, prices: TokenPrices): number {
  return (input * prices.input + output * prices.output) / 1e6;
}

/** What `questions` questions will come to, from the tokens that some requests have. */
export function estimateTotal(questions: number, inputTokens: readonly number[]): Tokens {
  const mean =
    inputTokens.length === 0 ? 0 : inputTokens.reduce((sum, one) => sum + one, 0) / inputTokens.length;
  const calls = questions * CALLS_PER_QUESTION;
  return { input: Math.ceil(calls * mean), output: Math.ceil(calls * USUAL_OUTPUT_TOKENS) };
}

/** Length in UTF-8. */
function byteLength(text: string): number {
  let bytes = text.length;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code > 0xffff) bytes += 2;
    else if (code > 0x7ff) bytes += 2;
    else if (code > 0x7f) bytes += 1;
  }
  return bytes;
}
