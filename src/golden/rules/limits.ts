/** What a golden set may hold. Each check returns null, or what is wrong, to complete `Line 3 of FILE ...`. */

/** Lengths are in UTF-16 code units, as JavaScript counts them. */
export const goldenLimits = {
  idLength: 1024,
  textLength: 100_000,
  tags: 32,
  tagKeyLength: 64,
  tagValueLength: 256,
  /** Above it the exponential gain 2^grade - 1 comes near the largest double. */
  grade: 1000,
} as const;

const controlCharacter = /\p{Cc}/u;
/** In `u` mode a paired surrogate is one character, so this finds only halves, which UTF-8 cannot carry. */
const loneSurrogate = /\p{Cs}/u;

/** Checks an id that is already trimmed; `what` is `query id` or `document id`. */
export function idProblem(what: string, id: string): string | null {
  if (id === '') return `has an empty ${what}; write the ${what}`;
  if (id.length > goldenLimits.idLength) {
    return `has a ${what} of ${id.length} characters; use at most ${goldenLimits.idLength}`;
  }
  return stringProblem(`a ${what}`, id);
}

/** Checks the text of a query that is already trimmed. Line breaks and tabs are allowed, NUL is not. */
export function textProblem(text: string): string | null {
  if (text === '') return 'has an empty question; write the question or remove the line';
  if (text.length > goldenLimits.textLength) {
    return `has a question of ${text.length} characters; use at most ${goldenLimits.textLength}`;
  }
  if (text.includes('\0')) return 'has a NUL character in its question; remove it';
  return loneSurrogate.test(text) ? 'has half of a surrogate pair in its question; remove it' : null;
}

/** Checks the name of a tag. `=` is refused because a segment is written `key=value`. */
export function tagKeyProblem(key: string): string | null {
  if (key === '') return 'has a tag without a name; name it';
  if (key.length > goldenLimits.tagKeyLength) {
    return `has a tag name of ${key.length} characters; use at most ${goldenLimits.tagKeyLength}`;
  }
  if (key.includes('=')) return `has "=" in the tag name ${JSON.stringify(key)}; rename the tag`;
  return stringProblem('a tag name', key);
}

/** Checks the value of the tag `key`. */
export function tagValueProblem(key: string, value: string): string | null {
  if (value.length > goldenLimits.tagValueLength) {
    const most = goldenLimits.tagValueLength;
    return `has a value of ${value.length} characters in the tag ${key}; use at most ${most} or remove the tag`;
  }
  return stringProblem(`the value of the tag ${key}`, value);
}

/** Checks a grade; a negative one is legal in a file and means unjudged. */
export function gradeProblem(grade: number): string | null {
  if (!Number.isSafeInteger(grade)) return 'has a grade that is not a whole number; use 0, 1, 2, ...';
  return grade > goldenLimits.grade ? `has the grade ${grade}; use at most ${goldenLimits.grade}` : null;
}

/** The whole number that a cell writes (`2`, `+2`, `2.0`, `-1`), or null. */
export function parseGrade(text: string): number | null {
  if (!/^[+-]?\d{1,15}(\.0+)?$/.test(text)) return null;
  const grade = Number(text);
  return grade === 0 ? 0 : grade;
}

function stringProblem(what: string, value: string): string | null {
  if (controlCharacter.test(value)) return `has a control character or a line break in ${what}; remove it`;
  return loneSurrogate.test(value) ? `has half of a surrogate pair in ${what}; remove it` : null;
}
