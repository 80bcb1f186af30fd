/** English function words and the words that every question has; they say nothing about the topic. */
const stopWords = new Set(
  (
    'a an and are as at be been but by did do does for from had has have how in into is it its many much of on or ' +
    'that the their they this to was were what when where which who whom whose why will with'
  ).split(' '),
);

/**
 * The content words of an English text, in order and with repetitions: runs of Unicode letters and digits in lower
 * case, without stop words, reduced to a light stem. A text without content words gives an empty list.
 */
export function contentWords(text: string): string[] {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !stopWords.has(word)).map(lightStem);
}

/**
 * Takes off the plural (the S stemmer of Harman, "How effective is suffixing?", JASIS 1991), then -ing, -ed or -ly
 * where four letters stay, then a final e. It joins most forms of a word and now and then two different words.
 */
function lightStem(word: string): string {
  let stem = singular(word);
  const suffix = ['ing', 'ed', 'ly'].find((end) => stem.endsWith(end) && stem.length - end.length >= 4);
  if (suffix !== undefined) stem = stem.slice(0, -suffix.length);
  return stem.length > 4 && stem.endsWith('e') ? stem.slice(0, -1) : stem;
}

function singular(word: string): string {
  if (word.length < 4) return word;
  if (word.endsWith('ies') && !/[ae]ies$/.test(word)) return `${word.slice(0, -3)}y`;
  if (word.endsWith('es') && !/[aeo]es$/.test(word)) return word.slice(0, -1);
  if (word.endsWith('s') && !/[us]s$/.test(word)) return word.slice(0, -1);
  return word;
}

/** The character n-grams of a word with its bounds marked: `<cat>` gives `<cat` and `cat>` for n = 4. */
export function characterNgrams(word: string, n: number): string[] {
  const marked = `<${word}>`;
  const ngrams: string[] = [];
  for (let start = 0; start + n <= marked.length; start += 1) ngrams.push(marked.slice(start, start + n));
  return ngrams;
}
