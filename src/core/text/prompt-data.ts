/** Texts of others inside the prompt of a chat model. */

/**
 * What could be read as something else than text: tags and marks of chat templates, and characters that nobody sees. In a
 * string of JSON their escapes mean the same.
 */
const escaped = /[<>\u2028\u2029]|\p{Cf}|\[(?=\/?(?:INST|SYS))/giu;

/**
 * Texts by name as one JSON object. No text can end its string, and none loses a character: parsed again it is the same.
 */
export function promptData(texts: Readonly<Record<string, string>>): string {
  return JSON.stringify(texts).replaceAll(escaped, (found) =>
    [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );
}

export interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}
