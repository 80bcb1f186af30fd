/** Extracts ranked documents from a response body with the JMESPath expressions in `retriever.results`. */
import { compile, isRegistered, type JSONValue, TreeInterpreter } from '@jmespath-community/jmespath';
import { RecalldError } from '../../core/errors.ts';
import { contentId } from '../../core/text/content-id.ts';
import { endsEarly, JsonBeyondLimit, parseExactJson } from '../../core/text/json.ts';
import type { RetrieverConfigOf } from './config.ts';
import { type FoundDocument, keptDepth, type Reading, type RetrieverStage } from './retriever.ts';

type ResultExpressions = RetrieverConfigOf<'http'>['results'];
type StageExpressions = ResultExpressions['stages'][string];

/** `label` names the service in messages; messages must not contain `queryText`. */
interface AnswerBody {
  readonly text: string;
  readonly contentType: string | null;
  readonly label: string;
  readonly queryText: string;
  /** Number of requested documents. */
  readonly k: number;
  /** True if document texts are needed. */
  readonly withText: boolean;
  /** True if stage results are needed; default: false. */
  readonly withStages?: boolean;
}

type Expression = ReturnType<typeof compile>;

/**
 * Compiles `retriever.results`. The reader returns results in the order of the response, including duplicates. The
 * reader truncates a response at ten times the requested number of results, but never below 1,000 and never above
 * 10,000. The evaluation later truncates the list and collapses duplicates.
 *
 * - readId defines valid ids; without an id expression, ids are derived from the texts.
 * - If any result has no id, the whole response becomes the error `missing_id`. Dropping the result would move later
 *   results up, and the score would overstate the quality of the results that users got.
 * - A score is a finite number, or a string that contains one; anything else is null.
 * - A text is a string; anything else is null. Texts are read only if needed.
 *
 * @param field path of the retriever's config section
 * @param namesKeys true if messages may name keys in a response
 * @throws RecalldError `config_invalid` for an expression that is not JMESPath.
 */
export function compileResults(expressions: ResultExpressions, field = 'retriever', namesKeys = true) {
  const describe = (value: unknown, queryText?: string) => describeShape(value, namesKeys, queryText);
  const stages = Object.entries(expressions.stages).map(
    ([name, stage]) => [name, compileStage(stage, `${field}.results.stages.${name}`)] as const,
  );
  const compiled = (key: 'list' | 'id' | 'score' | 'text', text: string | null | undefined) =>
    text === null || text === undefined ? null : compileExpression(text, `${field}.results.${key}`);
  const list = compileExpression(expressions.list, `${field}.results.list`);
  const id = compiled('id', expressions.id);
  const score = compiled('score', expressions.score);
  const textOf = compiled('text', expressions.text);
  if (id === null && textOf === null) {
    const problem =
      'null means that ids are derived from the texts; set results.text, or set results.id to the field that contains the ids';
    throw new RecalldError('config_invalid', `${field}.results.id: ${problem}.`);
  }
  for (const [key, text, node] of [
    ['list', expressions.list, list],
    ['id', expressions.id, id],
  ] as const) {
    if (node?.type === 'Arithmetic') {
      const problem = `JMESPath parses ${text} as arithmetic; write a name with a hyphen in double quotes inside single quotes: '"a-b"'`;
      throw new RecalldError('config_invalid', `${field}.results.${key}: ${problem}.`);
    }
  }

  return (body: AnswerBody): Reading => {
    const { label, queryText } = body;
    let answer: JSONValue;
    try {
      answer = parseExactJson(body.text);
    } catch (error) {
      if (error instanceof JsonBeyondLimit)
        return { kind: 'error', code: error.code, message: `${label} returned JSON that ${error.problem}.` };
      if (endsEarly(body.text)) {
        const limit = 'a gateway or the retriever may limit the length of responses';
        return { kind: 'error', code: 'cut_off', message: `${label} returned JSON that ends early; ${limit}.` };
      }
      return { kind: 'error', code: 'not_json', message: `${label} ${describeNonJson(body)}.` };
    }
    const results = evaluate(list, answer);
    if (!Array.isArray(results)) {
      const gives = `${field}.results.list (${expressions.list}) is ${describe(results)}`;
      const message = `${label} returned no list of results: ${gives}; the response is ${describe(answer, queryText)}.`;
      return { kind: 'error', code: 'no_result_list', message };
    }
    const depth = keptDepth(body.k);
    const kept = results.slice(0, depth);
    const documents = kept.map((result) => {
      const text = textOf === null || !(body.withText || id === null) ? null : readText(evaluate(textOf, result));
      return {
        id: id === null ? contentId(text ?? '') : readId(evaluate(id, result)),
        score: score === null ? null : readScore(evaluate(score, result)),
        ...(body.withText && textOf !== null ? { text } : {}),
      };
    });
    if (documents.every(hasId)) {
      if (!body.withStages || stages.length === 0) return { kind: 'documents', documents };
      return {
        kind: 'documents',
        documents,
        stages: stages.flatMap(([name, read]) => {
          const stage = read(answer, depth);
          return stage === null ? [] : [{ name, ...stage }];
        }),
      };
    }
    const first = documents.findIndex((document) => !hasId(document));
    const count = documents.filter((document) => !hasId(document)).length;
    const which = `${count} of ${documents.length} results, first at rank ${first + 1}`;
    const message =
      `${label} returned no valid id for ${which}: ` +
      `${field}.results.${id === null ? 'text' : 'id'} is ${expressions.id ?? expressions.text}, and the result at that rank is ${describe(kept[first], queryText)}.`;
    return { kind: 'error', code: 'missing_id', message };
  };
}

/** Reads the results of a stage; null if the stage is not in the response. Omits stage results without an id. */
function compileStage(stage: StageExpressions, field: string) {
  const list = compileExpression(stage.list, `${field}.list`);
  const id = compileExpression(stage.id, `${field}.id`);
  const score = stage.score === null ? null : compileExpression(stage.score, `${field}.score`);
  const latency = stage.latency === undefined ? null : compileExpression(stage.latency, `${field}.latency`);
  return (answer: JSONValue, depth: number): Omit<RetrieverStage, 'name'> | null => {
    const results = evaluate(list, answer);
    if (!Array.isArray(results)) return null;
    const documents = results
      .slice(0, depth)
      .map((result) => ({
        id: readId(evaluate(id, result)),
        score: score === null ? null : readScore(evaluate(score, result)),
      }))
      .filter(hasId);
    const latencyMs = latency === null ? null : readScore(evaluate(latency, answer));
    return latencyMs === null || latencyMs < 0 ? { documents } : { documents, latencyMs };
  };
}

/** @throws RecalldError `config_invalid` for a string that is not JMESPath; `field` is its path in the config */
export function compileExpression(text: string, field: string): Expression {
  const compiled = tryCompile(text);
  if ('problem' in compiled) throw new RecalldError('config_invalid', `${field}: ${compiled.problem}.`);
  return compiled.expression;
}

export function tryCompile(text: string): { readonly expression: Expression } | { readonly problem: string } {
  let expression: Expression;
  try {
    expression = compile(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^Syntax error[:,] */, '') : 'unknown';
    return { problem: `"${text}" is not a JMESPath expression (${reason})` };
  }
  const unknown = calledFunctions(expression).find((name) => !isRegistered(name));
  return unknown === undefined ? { expression } : { problem: `JMESPath has no function ${unknown}()` };
}

/**
 * Returns the names of the functions that an expression calls. The library reports unknown functions only during
 * evaluation.
 */
function calledFunctions(node: unknown): readonly string[] {
  if (typeof node !== 'object' || node === null) return [];
  const called = Object.values(node).flatMap(calledFunctions);
  return 'type' in node && node.type === 'Function' && 'name' in node ? [String(node.name), ...called] : called;
}

/**
 * Evaluates an expression on a parsed JSON value. Returns null if the expression does not apply to the value, such as a
 * sum over text.
 */
export function evaluate(expression: Expression, value: JSONValue): JSONValue {
  try {
    return TreeInterpreter.search(expression, value);
  } catch {
    return null;
  }
}

function readScore(value: unknown): number | null {
  const isNumeric = typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value);
  const score = isNumeric ? Number(value) : value;
  return typeof score === 'number' && Number.isFinite(score) ? score : null;
}

function readText(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function hasId(document: { id: string | null; score: number | null; text?: string | null }): document is FoundDocument {
  return document.id !== null;
}

function describeNonJson({ text, contentType }: AnswerBody): string {
  if (text.trim() === '') return 'returned an empty body instead of JSON';
  const type = /^[\w.+-]+\/[\w.+-]+/.exec(contentType ?? '')?.[0].toLowerCase();
  if (type === undefined) return 'returned no content type, and the body is not JSON';
  if (/[/+]json$/.test(type)) return `declares ${type}, but the body is not JSON (it may contain NaN)`;
  return `returned ${type} instead of JSON`;
}

/**
 * Describes the shape of a JSON value, never its content. Includes keys, because they reveal which expression is wrong,
 * but only keys that look like names and differ from the query.
 */
function describeShape(value: unknown, namesKeys: boolean, queryText = ''): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value !== 'object') return `a ${typeof value}`;
  if (!namesKeys) return 'an object';
  const query = queryText.trim().toLowerCase();
  const names = Object.keys(value).filter((key) => /^[\w.$-]{1,40}$/.test(key) && key.toLowerCase() !== query);
  const shown = names.slice(0, 10).join(', ');
  return shown === '' ? 'an object without keys that can be shown' : `an object with the keys ${shown}`;
}

/**
 * Reads an id: a non-empty string, returned unchanged, or an integer, returned as digits. Returns null for anything
 * else: a number with a fraction is probably a score, and text with a NUL character cannot be stored.
 */
export function readId(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  return typeof value === 'string' && value !== '' && !value.includes('\0') ? value : null;
}
