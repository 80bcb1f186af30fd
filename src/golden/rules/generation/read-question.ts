/** What a model made of the request for a question. */
import { parseBoundedJson } from '../../../text/json.ts';

export type ReadQuestion =
  | { readonly kind: 'question'; readonly question: string }
  /** The model found nothing to ask. */
  | { readonly kind: 'none' }
  /** `problem` follows `That is not usable: `. */
  | { readonly kind: 'malformed'; readonly problem: string };

/** Takes JSON of the shape of `questionSchema`, also within a fence of code or after words. Never throws. */
export function readQuestion(text: string): ReadQuestion {
  const value = parseObject(text);
  if (value === null) return { kind: 'malformed', problem: 'it is no JSON object' };
  const { answerable, question } = value;
  if (answerable === false) return { kind: 'none' };
  if (typeof question !== 'string') return { kind: 'malformed', problem: '"question" is no text' };
  const trimmed = question.replaceAll(/\s+/g, ' ').trim();
  return trimmed === '' ? { kind: 'none' } : { kind: 'question', question: trimmed };
}

function parseObject(text: string): Record<string, unknown> | null {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')];
  if (from === -1 || to < from) return null;
  try {
    const value = parseBoundedJson(text.slice(from, to + 1));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
