/** The lines that go to a program and come back from it, one JSON object each. */
import { fieldsOf } from '../../outbound/json-value.ts';
import { JsonBeyondLimit } from '../../text/bounded-json.ts';
import { parseExactJson } from '../../text/exact-json.ts';
import { readId } from '../read-id.ts';
import type { FoundDocument, RetrieverRequest } from '../retriever.ts';

/** What became of one query, as the program says. */
export type Outcome =
  | { readonly kind: 'documents'; readonly documents: readonly FoundDocument[] }
  | { readonly kind: 'error'; readonly code: string; readonly message: string };

export type AnswerLine =
  | { readonly kind: 'answer'; readonly id: string; readonly outcome: Outcome }
  /** Nobody can tell which query the line is for. */
  | { readonly kind: 'broken'; readonly code: string; readonly problem: string };

/** `{"id","text","k","tags"}`. JSON escapes line breaks, so that a text never ends the line. */
export function requestLine(id: string, { text, k, tags }: RetrieverRequest): string {
  return `${JSON.stringify({ id, text, k, tags })}\n`;
}

/**
 * Reads `{"id","documents":[{"id","score"?,"text"?}]}`, best first, or `{"id","error":{"code","message"}}`.
 *
 * A document without an id makes the answer the error `missing_id`, as with other retrievers.
 */
export function readAnswerLine(line: string): AnswerLine {
  let json: unknown;
  try {
    json = parseExactJson(line);
  } catch (error) {
    if (error instanceof JsonBeyondLimit) {
      return { kind: 'broken', code: error.code, problem: `wrote a line of JSON that ${error.problem}` };
    }
    const problem =
      'wrote a line that is not JSON; what it has to say to people belongs on its standard error';
    return { kind: 'broken', code: 'not_json', problem };
  }
  const fields = fieldsOf(json);
  const id = readId(fields['id']);
  if (id === null) {
    const problem = 'wrote an answer without the id of a query; repeat the id of the request';
    return { kind: 'broken', code: 'unknown_id', problem };
  }
  return { kind: 'answer', id, outcome: readOutcome(fields) };
}

function readOutcome(fields: Readonly<Record<string, unknown>>): Outcome {
  if (fields['error'] !== undefined && fields['error'] !== null) {
    const { code, message } = fieldsOf(fields['error']);
    return {
      kind: 'error',
      code: typeof code === 'string' && /^[a-z0-9_]{1,40}$/.test(code) ? code : 'command_error',
      message:
        typeof message === 'string' && message.trim() !== '' ? message : 'The command reports an error.',
    };
  }
  const list = fields['documents'];
  if (!Array.isArray(list)) {
    const message = 'The command answered without the list `documents`.';
    return { kind: 'error', code: 'no_result_list', message };
  }
  const documents: FoundDocument[] = [];
  for (const [place, entry] of (list as unknown[]).entries()) {
    const { id: rawId, score, text } = fieldsOf(entry);
    const id = readId(rawId);
    if (id === null) {
      const message = `The command gave no usable id for the document at rank ${place + 1}.`;
      return { kind: 'error', code: 'missing_id', message };
    }
    documents.push({
      id,
      score: typeof score === 'number' && Number.isFinite(score) ? score : null,
      text: typeof text === 'string' ? text : null,
    });
  }
  return { kind: 'documents', documents };
}

const LONGEST_MESSAGE = 300;

/** A message of the program as it may be shown: short, one line, and not at all when it repeats the query. */
export function shownMessage(message: string, queryText: string): string {
  const query = queryText.trim().toLowerCase();
  if (query !== '' && message.toLowerCase().includes(query)) {
    return 'The command reports an error; its message repeats the query and is not shown.';
  }
  return message
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, LONGEST_MESSAGE);
}
