/** Escapes untrusted texts for a chat model prompt. */
import { jsonEscapes } from './visible-text.ts';

/**
 * Characters that a model could read as markup: tags and control marks of chat templates, and invisible characters. In
 * a JSON string, the escape of a character has the same meaning as the character itself.
 */
const escaped = /[<>\u2028\u2029]|\p{Cf}|\[(?=\/?(?:INST|SYS))/giu;

/**
 * Returns named texts as one JSON object. No text can end the string that contains it, and parsing returns the same
 * texts.
 */
export function promptData(texts: Readonly<Record<string, string>>): string {
  return JSON.stringify(texts).replaceAll(escaped, jsonEscapes);
}

export interface PromptMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}
