/**
 * Replaces personal data before it is stored, according to the privacy settings of a pipeline. Names are detected by a
 * Presidio analyzer or a compatible service (`POST /analyze`).
 */
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { PipelineConfig } from '../../app/config/schema.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import type { Meter } from '../../platform/metrics/meter.ts';
import { createJsonApi } from '../../platform/outbound/json-api.ts';
import { createEventLoopYield } from '../../platform/threads/event-loop-yield.ts';
import type { Feedback, LiveQuery } from '../rules/live-query.ts';
import { samplingUnit, type UnitIds } from '../rules/sampling/decision.ts';
import type { RedactionThread } from './redaction-thread.ts';
import { type FoundEntity, redactFound } from './rules/detector.ts';
import { createRedactor, textHash, userIdHmac } from './rules/redactor.ts';

export type PresidioConfig = NonNullable<PipelineConfig['privacy']['presidio']>;

/** Config path, for messages. */
const PRESIDIO = 'privacy.presidio';

/**
 * Maximum size of a response: sufficient for a text of 100,000 characters in which each character is an entity with
 * explanations.
 */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** Detects names and other personal data in a text by calling a service. */
type AnalyzeText = ReturnType<typeof createPresidioAnalyzer>;

/** @throws RecalldError config_invalid for an invalid URL */
export function createPresidioAnalyzer({ url, headers, timeout_ms, concurrency, ...options }: PresidioConfig) {
  const api = createJsonApi(
    { url, headers, timeout_ms, retries: 0 },
    { service: 'Presidio', configField: PRESIDIO, maxResponseBytes: MAX_RESPONSE_BYTES },
  );
  const semaphore = createSemaphore(concurrency);

  const ask = async (text: string, deadline: AbortSignal): Promise<EntityAnalysis> => {
    const call = {
      method: 'POST',
      path: '/analyze',
      body: { text, ...options },
      purpose: 'analysis',
    } as const;
    const answer = await api.call(call, deadline);
    if (answer.kind === 'failed') {
      const isMalformed = answer.code === 'not_json' || answer.code === 'too_deep';
      const kind = answer.code === 'timeout' ? 'timeout' : isMalformed ? 'malformed' : 'failed';
      return { kind, message: answer.message };
    }
    const found = entitiesSchema.safeParse(answer.json);
    if (found.success) return { kind: 'found', entities: found.data };
    return { kind: 'malformed', message: `Presidio did not return a list of entities; check ${PRESIDIO}.url.` };
  };

  /** Resolves within the configured timeout, which includes the time in the queue. Never rejects. */
  return async (text: string): Promise<EntityAnalysis> => {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), timeout_ms);
    try {
      return await semaphore(() => ask(text, deadline.signal), deadline.signal);
    } catch {
      const fix = `raise ${PRESIDIO}.timeout_ms or .concurrency, or scale the service up`;
      return { kind: 'timeout', message: `Presidio did not respond within ${timeout_ms} ms; ${fix}.` };
    } finally {
      clearTimeout(timer);
    }
  };
}

const entitiesSchema = z.array(
  z
    .object({ entity_type: z.string(), start: z.number(), end: z.number(), score: z.number().catch(0) })
    .transform(({ entity_type: entityType, ...place }): FoundEntity => ({ entityType, ...place })),
);

/**
 * Creates a function that runs at most `max` tasks at a time. If the signal of a queued task aborts, the task is never
 * started, and its promise rejects with the abort reason.
 */
export function createSemaphore(max: number) {
  const waiting = new Set<() => void>();
  let running = 0;

  const takeTurn = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', giveUp);
        running++;
        resolve();
      };
      const giveUp = (): void => {
        waiting.delete(start);
        reject(signal.reason);
      };
      if (signal.aborted) return reject(signal.reason);
      if (running < max) return start();
      waiting.add(start);
      signal.addEventListener('abort', giveUp, { once: true });
    });

  return async <T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    await takeTurn(signal);
    try {
      return await task();
    } finally {
      running--;
      const [next] = waiting;
      if (next !== undefined) {
        waiting.delete(next);
        next();
      }
    }
  };
}

/** The entities in a text, or the reason why the analysis failed. */
type EntityAnalysis =
  | { readonly kind: 'found'; readonly entities: readonly FoundEntity[] }
  | {
      readonly kind: 'failed' | 'timeout' | 'malformed';
      /** Log message, which names the service and the fix and never contains the text. */
      readonly message: string;
    };

/** Returns null for a text that could not be analyzed and therefore must not be stored. Rejects if `redact` rejects. */
type RedactText = (text: string) => Promise<string | null>;

/**
 * Minimum interval between log lines. Without this limit, recalld would log a line for every text while the service
 * fails.
 */
const LOG_EVERY_MS = 60_000;

/**
 * Creates a function that redacts texts with the built-in rules and then with the service. The function never fails
 * open: a text that the service cannot analyze is not stored. The service receives only texts that the built-in rules
 * have already redacted.
 */
function createRedactText(
  redact: (text: string) => Promise<string> | string,
  analyze: AnalyzeText,
  { pipeline, meter, logger, clock }: Omit<PersonalDataParts, 'privacy' | 'key' | 'thread'>,
): RedactText {
  let loggedAtMs: number | null = null;
  const count = (outcome: string): void => meter.increment('recalld_redaction_service_total', { pipeline, outcome });
  const refuse = (outcome: string, reason: string): null => {
    count(outcome);
    const nowMs = clock.monotonicMs();
    if (loggedAtMs === null || nowMs - loggedAtMs >= LOG_EVERY_MS) {
      loggedAtMs = nowMs;
      logger.warn('storing only hashes of texts that could not be redacted', {
        pipeline,
        reason,
      });
    }
    return null;
  };
  return async (text) => {
    const redacted = await redact(text);
    if (redacted.trim() === '') return redacted;
    const analysis = await analyze(redacted);
    if (analysis.kind !== 'found') return refuse(analysis.kind, analysis.message);
    const clean = redactFound(redacted, analysis.entities);
    if (clean === null)
      return refuse('malformed', 'The service returned an entity whose offsets are outside the text.');
    count('ok');
    return clean;
  };
}

export interface PersonalDataParts {
  readonly pipeline: string;
  readonly meter: Meter;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly privacy: Omit<PipelineConfig['privacy'], 'retention_days'>;
  readonly key: string;
  readonly thread: Pick<RedactionThread, 'redact'>;
}

/** Text that replaces an error message that could not be redacted. */
const REFUSED = '[REDACTED]';

/**
 * Maximum length of a text that is redacted in the main thread; redacting a hostile text of this length takes 10 ms.
 * Longer texts are redacted in the worker thread.
 */
const MAX_HERE = 20_000;

/**
 * Yields to the event loop between texts, because a request may contain a thousand texts. All pipelines share this
 * function, because they share the main thread.
 */
const takeTurn = createEventLoopYield(2 * MAX_HERE);

export type PersonalData = ReturnType<typeof createPersonalData>;

/**
 * Replaces personal data: redacts texts, hashes ids with a key, and drops data that cannot be redacted. Finishes within
 * the configured timeout of the service. Rejects only if too many long texts are queued (RecalldError `overloaded`); in
 * that case, nothing is stored.
 *
 * @throws RecalldError as createPresidioAnalyzer
 */
export function createPersonalData({ privacy, key, thread, ...deps }: PersonalDataParts) {
  const { patterns, presidio } = privacy;
  const redactHere = createRedactor(patterns);
  // Avoids a promise for short texts, because the promise would cost as much as the redaction.
  const redact = (text: string): Promise<string> | string => {
    if (text.length > MAX_HERE) return thread.redact({ text, patterns });
    const turn = takeTurn(text.length);
    return turn === null ? redactHere(text) : turn.then(() => redactHere(text));
  };
  const redactText = presidio === undefined ? redact : createRedactText(redact, createPresidioAnalyzer(presidio), deps);
  const shown = (text: string | null): Promise<string | null> | string | null => {
    if (text === null || privacy.text === 'hash') return null;
    return privacy.text === 'keep' ? text : redactText(text);
  };
  // Error messages are meant for operators but may quote the query, so they are redacted even if they look like a class
  // name.
  const shownError = async (error: string): Promise<string | null> =>
    privacy.text === 'hash' ? null : ((await redactText(error)) ?? REFUSED);
  const userHash = (userId: string | null): string | null => (userId === null ? null : userIdHmac(userId, key));
  const hashPeople = (query: UnitIds & Pick<LiveQuery, 'userId'>) => ({
    /** Keyed hash of the session or, for a query without a session, of its sampling unit. */
    sessionHash: userIdHmac(query.sessionId ?? samplingUnit(query).id, key),
    userHash: userHash(query.userId),
  });
  const toPrivateText = async (text: string | null) => {
    const stored = await shown(text);
    // At most one of the text and its hash is set.
    return { text: stored, textHash: text === null || stored !== null ? null : textHash(text, key) };
  };
  return {
    hashPeople,
    toPrivateText,
    async toPrivateQuery(query: LiveQuery) {
      const { sessionHash, userHash } = hashPeople(query);
      const original = query.episode?.originalText ?? null;
      const [{ text, textHash }, originalText, error] =
        query.error === null && original === null
          ? [await toPrivateText(query.text), null, null]
          : await Promise.all([
              toPrivateText(query.text),
              shown(original),
              query.error === null ? null : shownError(query.error),
            ]);
      // `originalText` is null if it is unknown, or if only hashes are stored.
      return { sessionHash, userHash, text, textHash, originalText, error };
    },
    async toPrivateFeedback({ userId, comment }: Feedback) {
      return { userHash: userHash(userId), comment: await shown(comment) };
    },
    /** Returns a keyed hash of any text. */
    hash: (text: string) => textHash(text, key),
  };
}

/**
 * Returns the key for hashes of users and sessions. The key is created on the first call and shared by all processes
 * that use the database. Anyone who can read the database can read the key. To keep the key out of the database, set a
 * key in the config.
 */
export async function storedHashKey(pool: Pool): Promise<string> {
  await pool.query(`insert into hash_keys (name, key) values ('people', $1::text) on conflict do nothing`, [
    randomBytes(32).toString('hex'),
  ]);
  const { rows } = await pool.query<{ key: string }>(`select key from hash_keys where name = 'people'`);
  if (rows[0] === undefined) throw new Error('the hash key does not exist although it was just created');
  return rows[0].key;
}
