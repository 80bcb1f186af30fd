/** A retriever that is a program: it reads one JSON line per query and writes one JSON line per response. */
import { setMaxListeners } from 'node:events';
import { codeOf } from '../../core/errors.ts';
import { systemClock } from '../../core/system-clock.ts';
import { JsonBeyondLimit, parseExactJson } from '../../core/text/json.ts';
import { type Fields, fieldsOf } from '../../platform/outbound/json-api.ts';
import { type Program, startProgram } from './command-program.ts';
import type { RetrieverConfigOf } from './config.ts';
import { readId } from './results.ts';
import {
  type FoundDocument,
  keptDepth,
  type Reading,
  type Retriever,
  type RetrieverAnswer,
  type RetrieverParts,
  type RetrieverRequest,
} from './retriever.ts';

type AnswerLine =
  | { readonly kind: 'answer'; readonly id: string; readonly fields: Fields }
  /** The line cannot be matched to a query. */
  | { readonly kind: 'broken'; readonly code: string; readonly problem: string };

/** Returns `{"id","text","k","tags"}`. JSON escapes line breaks, so no query text can end the line. */
function requestLine(id: string, { text, k, tags }: RetrieverRequest): string {
  const line = JSON.stringify({ id, text, k, tags });
  // JSON allows these characters unescaped, but the line reader in Node.js 24 treats them as line endings.
  return `${line.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}\n`;
}

/** Reads `{"id","documents":[{"id","score"?,"text"?}]}`, best first, or `{"id","error":{"code","message"}}`. */
function readAnswerLine(line: string): AnswerLine {
  let json: unknown;
  try {
    json = parseExactJson(line);
  } catch (error) {
    if (error instanceof JsonBeyondLimit) {
      return { kind: 'broken', code: error.code, problem: `wrote a line of JSON that ${error.problem}` };
    }
    const problem = 'wrote a line that is not JSON; write diagnostics to standard error';
    return { kind: 'broken', code: 'not_json', problem };
  }
  const fields = fieldsOf(json);
  const id = readId(fields['id']);
  if (id === null) {
    const problem = 'wrote a response without a query id; repeat the id from the request';
    return { kind: 'broken', code: 'unknown_id', problem };
  }
  return { kind: 'answer', id, fields };
}

/**
 * Reads the result of one query. Reads document texts only if they were requested. An error message never contains the
 * query. If a document has no id, the result is the error `missing_id`, as with other retrievers.
 */
function readOutcome(
  fields: Fields,
  { text: queryText, k, withText = false }: RetrieverRequest,
  repeatsAnswers: boolean,
): Reading {
  if (fields['error'] !== undefined && fields['error'] !== null) {
    const { code, message } = fieldsOf(fields['error']);
    const isShown = repeatsAnswers && typeof message === 'string' && message.trim() !== '';
    return {
      kind: 'error',
      code: typeof code === 'string' && /^[a-z0-9_]{1,40}$/.test(code) ? code : 'command_error',
      message: isShown ? shownMessage(message, queryText) : 'The command reported an error.',
    };
  }
  const list = fields['documents'];
  if (!Array.isArray(list)) {
    const message = 'The command returned no `documents` list.';
    return { kind: 'error', code: 'no_result_list', message };
  }
  const documents: FoundDocument[] = [];
  for (const [place, entry] of (list as unknown[]).entries()) {
    const { id: rawId, score: rawScore, text } = fieldsOf(entry);
    const id = readId(rawId);
    if (id === null) {
      const message = `The command returned no valid id for the document at rank ${place + 1}.`;
      return { kind: 'error', code: 'missing_id', message };
    }
    const score = typeof rawScore === 'number' && Number.isFinite(rawScore) ? rawScore : null;
    documents.push(withText ? { id, score, text: typeof text === 'string' ? text : null } : { id, score });
  }
  return { kind: 'documents', documents: documents.slice(0, keptDepth(k)) };
}

const MAX_MESSAGE = 300;

/**
 * Returns the program's message in a form that is safe to show: short, on one line, and without the query. Replaces a
 * message that repeats the query with a fixed text.
 */
function shownMessage(message: string, queryText: string): string {
  const query = queryText.trim().toLowerCase();
  if (query !== '' && message.toLowerCase().includes(query)) {
    return 'The command reported an error. The message is not shown, because it repeats the query.';
  }
  return message
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, MAX_MESSAGE);
}

/**
 * `backoffMs`: delay before the first restart. The delay doubles after each start that produces no response, up to 30
 * s.
 */
const defaultLimits = { backoffMs: 200, maxLineBytes: 8 * 1024 * 1024 };
const MAX_BACKOFF_MS = 30_000;

/** After this many consecutive timeouts without an output line, the program is considered hung. */
const SILENT_ROUNDS = 3;

interface Question {
  readonly request: RetrieverRequest;
  /** Completes the query with its outcome. */
  complete(outcome: Reading | { readonly kind: 'timeout'; readonly message: string }): void;
}

/** One process that runs the program, and the pending queries of the process. */
interface Session {
  readonly program: Program;
  readonly questions: Map<string, Question>;
  hasAnswered: boolean;
  /** The later of two times: when the program last wrote a line, and when a timeout was last counted. */
  heardMs: number;
  silentRounds: number;
}

/**
 * Starts the program with the first query and keeps it running. The program receives queries concurrently and may
 * respond in any order. recalld restarts the program after a back-off if the program exits, hangs or violates the
 * protocol. After a protocol violation, recalld can no longer match the responses to queries. A program counts as hung
 * after three consecutive timeouts without any output, or after one timeout if it has not responded to any query yet.
 *
 * The error code is `command_not_started` if the process does not start, `command_exited` if it exits, `command_hung`
 * if it hangs, and `command_closed` if the retriever is closed. If the program writes an invalid line, the error code
 * is `not_json`, `too_deep`, `line_too_long`, `unknown_id`, `no_result_list` or `missing_id`. The program can also
 * report its own codes; an invalid code becomes `command_error`. recalld reads and discards the program's standard
 * error, because it may contain query texts.
 */
export function createCommandRetriever(
  config: RetrieverConfigOf<'command'>,
  { logger, repeatsAnswers }: RetrieverParts,
  { backoffMs, maxLineBytes } = defaultLimits,
): Retriever & { close(): Promise<void> } {
  const { timeout_ms: timeoutMs } = config;
  const [name = ''] = config.command;
  const endings = new Set<Promise<void>>();
  let session: Session | null = null;
  let lastId = 0;
  let vainStarts = 0;
  let startAgainMs = 0;
  let lastFailure = { code: 'command_exited', message: '' };
  let isClosed = false;
  const closed = { code: 'command_closed', message: `The command ${name} was stopped because recalld is stopping.` };

  /** Abandons the session: its pending queries fail, and the next query starts a new session. */
  const abandon = (given: Session, code: string, problem: string): void => {
    if (session !== given) return;
    session = null;
    vainStarts = given.hasAnswered ? 1 : vainStarts + 1;
    const waitMs = Math.min(MAX_BACKOFF_MS, backoffMs * 2 ** (vainStarts - 1));
    startAgainMs = performance.now() + waitMs;
    lastFailure = { code, message: `The command ${name} ${problem}.` };
    logger.warn("restarting a retriever's command", { command: name, code, wait_ms: waitMs });
    for (const question of given.questions.values()) question.complete({ kind: 'error', ...lastFailure });
    const ending = given.program.kill().finally(() => endings.delete(ending));
    endings.add(ending);
  };

  const takeLine = (from: Session, line: string): void => {
    if (session !== from) return;
    from.heardMs = performance.now();
    from.silentRounds = 0;
    const answer = readAnswerLine(line);
    if (answer.kind === 'broken') return abandon(from, answer.code, answer.problem);
    const question = from.questions.get(answer.id);
    if (question !== undefined) {
      from.hasAnswered = true;
      return question.complete(readOutcome(answer.fields, question.request, repeatsAnswers));
    }
    // A response that arrives after the timeout does not violate the protocol.
    const wasAsked = /^[1-9]\d{0,15}$/.test(answer.id) && Number(answer.id) <= lastId;
    if (!wasAsked) abandon(from, 'unknown_id', 'wrote a response with an unknown id; repeat the id from the request');
  };

  const start = (): Session => {
    const started: Session = {
      program: startProgram(config, maxLineBytes, {
        onLine: (line) => takeLine(started, line),
        onTooLong: () => abandon(started, 'line_too_long', 'wrote a line that is too long; return fewer results'),
        onComplaint: () =>
          logger.debug("a retriever's command wrote to its standard error, which is discarded", {
            command: name,
          }),
        onEnd: ({ code, reason }) =>
          abandon(started, code, `${reason}; run the command manually, and check retriever.command`),
      }),
      questions: new Map(),
      hasAnswered: false,
      heardMs: performance.now(),
      silentRounds: 0,
    };
    return started;
  };

  /**
   * Counts the timeout of a query that was sent after the program's last output line. Timeouts of queries that were
   * sent together count once.
   */
  const countSilence = (asked: Session, sentMs: number): void => {
    if (sentMs < asked.heardMs) return;
    asked.heardMs = performance.now();
    asked.silentRounds += 1;
    if (asked.hasAnswered && asked.silentRounds < SILENT_ROUNDS) return;
    abandon(asked, 'command_hung', 'produced no output for too long and was stopped');
  };

  const ask = (asked: Session, request: RetrieverRequest, signal: AbortSignal): Promise<RetrieverAnswer> => {
    const limitMs = asked.hasAnswered ? timeoutMs : Math.max(timeoutMs, config.start_timeout_ms);
    lastId += 1;
    const id = String(lastId);
    return new Promise((resolve, reject) => {
      const sentMs = performance.now();
      const end = (): void => {
        asked.questions.delete(id);
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
      };
      const abort = (): void => {
        end();
        reject(signal.reason as Error);
      };
      const complete: Question['complete'] = (outcome) => {
        end();
        resolve({ ...outcome, latencyMs: performance.now() - sentMs, attempts: 1 });
      };
      const timer = setTimeout(() => {
        complete({ kind: 'timeout', message: `The command ${name} did not respond within ${limitMs} ms.` });
        countSilence(asked, sentMs);
      }, limitMs);
      // Disables the warning about many listeners, because many queries listen to the same signal.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', abort, { once: true });
      asked.questions.set(id, { request, complete });
      asked.program.write(requestLine(id, request));
    });
  };

  return {
    async retrieve(request, signal) {
      signal.throwIfAborted();
      const waitMs = session === null ? startAgainMs - performance.now() : 0;
      if (waitMs > timeoutMs) {
        const message = `${lastFailure.message} recalld will restart the command in ${Math.ceil(waitMs / 1000)} s.`;
        return { kind: 'error', code: lastFailure.code, message, latencyMs: 0, attempts: 0 };
      }
      if (waitMs > 0) await systemClock.sleep(waitMs, signal);
      if (isClosed) return { kind: 'error', ...closed, latencyMs: 0, attempts: 0 };
      try {
        session ??= start();
      } catch (error) {
        const reason = codeOf(error) || 'unknown';
        const message = `The command ${name} cannot be started (${reason}); check retriever.command.`;
        return { kind: 'error', code: 'command_not_started', message, latencyMs: 0, attempts: 1 };
      }
      return ask(session, request, signal);
    },
    async close() {
      isClosed = true;
      const open = session;
      session = null;
      for (const question of open?.questions.values() ?? []) question.complete({ kind: 'error', ...closed });
      await Promise.all([open?.program.stop(), ...endings]);
    },
  };
}
