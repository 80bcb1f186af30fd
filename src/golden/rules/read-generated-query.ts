/** Extracts the query from a completion, which may wrap it in reasoning, fences, greetings, lists or labels. */
import { fieldsOf, parseBoundedJson } from '../../core/text/json.ts';

export type GeneratedQuery =
  | { readonly kind: 'query'; readonly query: string }
  /** The model found nothing to ask about, or refused to ask. */
  | { readonly kind: 'no_query' }
  /** `problem` completes the sentence that is sent to the model, `This answer cannot be used: `. */
  | { readonly kind: 'malformed'; readonly problem: string };

/**
 * Accepts JSON of the shape `querySchema`, even if reasoning precedes it, a code fence encloses it, or other words
 * surround it. A completion is malformed if it contains several queries, or text that is not a query. Never throws.
 */
export function readGeneratedQuery(text: string): GeneratedQuery {
  // The model may also have put its reasoning into the value of "question".
  const found = isOnlyReasoning(text) ? null : (parseAnswer(withoutReasoning(text)) ?? parseAnswer(text));
  if (found === null) return { kind: 'malformed', problem: 'it is not a JSON object with "answerable" and "question"' };
  const isAnswerable = booleanOf(found.get('answerable') ?? true);
  if (isAnswerable === null) return { kind: 'malformed', problem: '"answerable" is neither true nor false' };
  if (!isAnswerable) return { kind: 'no_query' };
  const value = found.get('question');
  const query: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (Array.isArray(query)) return { kind: 'malformed', problem: SEVERAL };
  if (typeof query !== 'string') return { kind: 'malformed', problem: '"question" is not text' };
  const bare = bareQuery(withoutReasoning(query));
  if (bare === '' || isRefusal(bare)) return { kind: 'no_query' };
  const problem = problemOf(bare);
  return problem === null ? { kind: 'query', query: bare.replaceAll(/\s+/g, ' ') } : { kind: 'malformed', problem };
}

const SEVERAL = '"question" contains several questions; write one';

/** Reasoning blocks; the opening tag may be missing because it was part of the prompt. */
const reasoning = '(?:think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad)';
const reasoningEnd = new RegExp(`^.*(?:</${reasoning}>|\\[/${reasoning}\\]|<\\|message\\|>|◁/think▷)`, 'isu');

const reasoningStart = new RegExp(`^\\s*(?:<${reasoning}>|\\[${reasoning}\\]|◁think▷)`, 'iu');

/** True if the completion was truncated within its reasoning; a draft of the query in the reasoning does not count. */
const isOnlyReasoning = (text: string): boolean => reasoningStart.test(text) && !reasoningEnd.test(text);

function withoutReasoning(text: string): string {
  return text.replace(reasoningEnd, '');
}

/** Maximum number of braces that are tried as the start of a JSON object; a complete output has one or two. */
const MAX_ATTEMPTS = 50;

/** Returns the first object with an expected key; its keys are in lower case. */
function parseAnswer(text: string): ReadonlyMap<string, unknown> | null {
  let from = text.indexOf('{');
  for (let attempt = 0; from !== -1 && attempt < MAX_ATTEMPTS; attempt++) {
    const value = fieldsOf(parsed(text.slice(from, endOfObject(text, from)))) ?? {};
    const keyed = new Map(Object.entries(value).map(([key, own]) => [key.trim().toLowerCase(), own]));
    if (keyed.has('question') || keyed.has('answerable')) return keyed;
    from = text.indexOf('{', from + 1);
  }
  return null;
}

/** Returns the index after the brace that closes the brace at `from`, ignoring braces in strings. */
function endOfObject(text: string, from: number): number {
  let depth = 0;
  let isInString = false;
  for (let i = from; i < text.length; i++) {
    const character = text[i];
    if (isInString) {
      if (character === '\\') i++;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return i + 1;
  }
  return text.length;
}

function parsed(text: string): unknown {
  try {
    return parseBoundedJson(text);
  } catch {
    return null;
  }
}

function booleanOf(value: unknown): boolean | null {
  const word = typeof value === 'string' ? value.trim().toLowerCase().replace(/[.!]$/, '') : String(value);
  if (['true', 'yes', '1', 'y', 'answerable'].includes(word)) return true;
  return ['false', 'no', '0', 'n', 'none', 'unanswerable', 'not answerable', 'n/a'].includes(word) ? false : null;
}

const label =
  /^(?:(?:generated |test |search |user )?(?:question|query|frage|pregunta|pergunta|domanda)|q)\s*\d{0,2}\s*[:：]\s*/iu;
/** Matches the marker of a list item, such as `1.`, `(2)` or `-`. */
const listMark = /^(?:\(?\d{1,2}[.):]|[-*•])\s+/u;

/** Removes fences, quotation marks, list markers and labels around the text. */
function bareQuery(text: string): string {
  const lines = text
    .replaceAll(/^\s*```.*$/gm, '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  let bare = lines.join('\n').replaceAll('**', '');
  const isList = lines.length > 1 || /^1[.)]\s.*\s2[.)]\s/su.test(bare);
  for (let before = ''; before !== bare; ) {
    before = bare;
    bare = bare.replace(/^(["'`“”„«»*_]{1,3})([^\n]*?)["'`“”«»*_]{1,3}$/u, '$2').trim();
    if (!isList) bare = bare.replace(listMark, '');
    bare = bare.replace(label, '').trim();
  }
  return bare;
}

const cannot =
  "(?:can(?:no|')t|can not|could(?: no|n')t|am unable to|'m unable to|unable to|am not able to|won't|will not)";
const writing = '(?:generate|create|write|formulate|produce|provide|come up with|think of|form|ask|derive|make)';

/**
 * Phrases that a model uses to decline to write a query. These phrases must not match real queries, such as "I cannot
 * log in".
 */
const refusals: readonly RegExp[] = [
  new RegExp(`\\b${cannot}\\s+(?:\\w+\\s+){0,3}?${writing}\\b[^?]{0,60}\\bquestions?\\b[^?]*$`, 'iu'),
  new RegExp(`^(?:i'm |i am )?(?:sorry|afraid|unfortunately)\\b[^?]*\\b${cannot}\\b[^?]*$`, 'iu'),
  new RegExp(`^i ${cannot} (?:help|assist|comply|fulfil?l|do)\\b[^?]*\\b(?:that|this|it|request)\\W*$`, 'iu'),
  /^as an? (?:ai|(?:large )?language model)\b/iu,
  /^(?:there (?:is|are) |i (?:see|find) )?(?:no|not a|nothing)\b(?: \w+){0,3}? ?(?:question|to ask)s?\b[^?]*$/iu,
  /^(?:leider|es tut mir leid)\b[^?]*\b(?:keine|nicht|kann)\b[^?]*$/iu,
  /^(?:désolé|je suis désolé|je ne peux pas (?:générer|créer|formuler|poser))\b[^?]*$/iu,
  /^(?:lo siento\b|no puedo (?:generar|crear|formular|hacer))[^?]*$/iu,
  /^(?:申し訳|抱歉|对不起|很抱歉|无法)/u,
];

function isRefusal(query: string): boolean {
  const plain = query.replaceAll('’', "'");
  return refusals.some((pattern) => pattern.test(plain));
}

/** Matches words that introduce or describe a question, but do not belong to the question. */
const talk: readonly RegExp[] = [
  /[:：]\s*$/u,
  /^(?:sure|certainly|of course|absolutely|gladly|no problem|great)\s*[!,.:]/iu,
  /^(?:[\w ,!.]{0,40}\b)?(?:here|below)(?:'s| is| are)\b[^?:]{0,60}\bquestions?\b/iu,
  /\b(?:a|one|the|possible|suitable|good) (?:possible |suitable |good |test )?question (?:is|could be|would be|might be)\b\s*[:"“]/iu,
  /\b(?:this|the|my) question (?:is|asks|tests|targets|refers|relates|can be answered|could be answered)\b/iu,
  /^(?:gerne|natürlich|selbstverständlich)\s*[!,.:]|^hier (?:ist|sind)\b[^?:]{0,60}\bfragen?\b/iu,
  /^(?:bien sûr|voici)\b[^?:]{0,60}\bquestions?\b|^(?:claro|por supuesto)\s*[!,.:]|^aquí (?:tienes|hay|está|están)\b/iu,
];

function problemOf(query: string): string | null {
  const lines = query.split('\n');
  const marked = lines.filter((line) => listMark.test(line)).length;
  const asking = lines.filter((line) => /[?？]["'”)]*$/u.test(line)).length;
  if (marked > 1 || asking > 1 || /^1[.)]\s.*\s2[.)]\s/su.test(query)) return SEVERAL;
  const plain = query.replaceAll('’', "'");
  if (talk.some((pattern) => pattern.test(plain))) return '"question" contains text besides the question';
  if (/[?？]\s*\(?(?:answer|a|antwort|réponse|respuesta)\s*[:：]/iu.test(plain)) return '"question" contains an answer';
  if (/^[\W_]*$/u.test(plain) && !/\p{L}/u.test(plain)) return '"question" is not text';
  return /^<[^>]+>$|^\[[^\]]+\]$/u.test(plain) ? '"question" is a placeholder' : null;
}
