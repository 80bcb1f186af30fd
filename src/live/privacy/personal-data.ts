/**
 * What takes the place of people in the database, by the privacy section of a pipeline. Names are found by the
 * analyzer of Presidio, or a service that speaks as it does: `POST /analyze`.
 */
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { PipelineConfig } from '../../app/config/schema.ts';
import type { Logger } from '../../core/logger.ts';
import type { Clock } from '../../core/time.ts';
import type { Meter } from '../../platform/metrics/meter.ts';
import { createJsonApi } from '../../platform/outbound/json-api.ts';
import { createEventLoopYield } from '../../platform/threads/event-loop-yield.ts';
import type { Feedback, LiveQuery } from '../rules/live-query.ts';
import type { RedactionThread } from './redaction-thread.ts';
import { type FoundEntity, redactFound } from './rules/detector.ts';
import { createRedactor, textHash, userIdHmac } from './rules/redactor.ts';

export interface PresidioConfig {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly language: string;
  readonly scoreThreshold: number;
  /** Types to look for; null for all that the service knows. */
  readonly entities: readonly string[] | null;
  /** For one text, its wait for a turn included. */
  readonly timeoutMs: number;
  /** Most texts that are with the service at a time. */
  readonly concurrency: number;
  /** Where the config describes it, for messages. */
  readonly configField: string;
}

/** A text of 100,000 characters, each a find, and explanations that nobody asked for. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** @throws RecalldError config_invalid for a URL that cannot be called */
export function createPresidioAnalyzer(settings: PresidioConfig): EntityAnalyzer {
  const { configField, timeoutMs, language, scoreThreshold, entities, concurrency } = settings;
  const api = createJsonApi(
    { url: settings.url, headers: settings.headers, timeout_ms: timeoutMs, retries: 0 },
    { service: 'Presidio', configField, maxResponseBytes: MAX_RESPONSE_BYTES },
  );
  const semaphore = createSemaphore(concurrency);
  const options = { language, score_threshold: scoreThreshold, ...(entities === null ? {} : { entities }) };

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
    const found = readEntities(answer.json);
    if (found !== null) return { kind: 'found', entities: found };
    return { kind: 'malformed', message: `Presidio answered no list of entities; check ${configField}.url.` };
  };

  return {
    async analyze(text) {
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), timeoutMs);
      try {
        return await semaphore(() => ask(text, deadline.signal), deadline.signal);
      } catch {
        const wayOut = `raise ${configField}.timeout_ms or .concurrency, or give it more power`;
        return { kind: 'timeout', message: `Presidio did not answer within ${timeoutMs} ms; ${wayOut}.` };
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** Null for anything but a list of finds. */
function readEntities(json: unknown): FoundEntity[] | null {
  if (!Array.isArray(json)) return null;
  const entities: FoundEntity[] = [];
  for (const item of json as unknown[]) {
    if (typeof item !== 'object' || item === null) return null;
    const { entity_type: entityType, start, end, score } = item as Record<string, unknown>;
    if (typeof entityType !== 'string' || typeof start !== 'number' || typeof end !== 'number') return null;
    entities.push({ entityType, start, end, score: typeof score === 'number' ? score : 0 });
  }
  return entities;
}

/** Lets a bounded number of tasks run at a time; others wait for their turn. */
type Semaphore = <T>(task: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/** A task whose signal aborts before its turn is never started, and rejects with the reason. */
export function createSemaphore(most: number): Semaphore {
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
      if (running < most) return start();
      waiting.add(start);
      signal.addEventListener('abort', giveUp, { once: true });
    });

  return async (task, signal) => {
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

/**
 * What a service found in a text, or why that is not known: it failed, did not answer in time (or had no turn for it), or
 * answered what cannot be understood.
 */
type EntityAnalysis =
  | { readonly kind: 'found'; readonly entities: readonly FoundEntity[] }
  | {
      readonly kind: 'failed' | 'timeout' | 'malformed';
      /** For the log: names the service and the way out, never the text. */
      readonly message: string;
    };

/** A service that finds names and other personal data in texts. */
interface EntityAnalyzer {
  /** Resolves within the timeout of the config, waiting for its turn included. Never rejects. */
  analyze(text: string): Promise<EntityAnalysis>;
}

interface RedactTextDeps {
  readonly pipeline: string;
  /** By our own rules. */
  readonly redact: (text: string) => Promise<string> | string;
  readonly analyzer: EntityAnalyzer;
  readonly meter: Meter;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Null for a text that could not be looked at and so must not be stored. Rejects as `redact` of its settings does. */
type RedactText = (text: string) => Promise<string | null>;

/** A service that is down fails with every text; once a minute is enough to know. */
const LOG_EVERY_MS = 60_000;

/**
 * Texts -> redacted texts, by our own rules and then by a service that knows names. It never fails open.
 *
 * The service sees a text only after our own rules took out what they find.
 */
function createRedactText(deps: RedactTextDeps): RedactText {
  const { pipeline, redact, analyzer, meter, logger, clock } = deps;
  let loggedAtMs: number | null = null;
  const count = (outcome: string): void => meter.increment('recalld_redaction_service_total', { pipeline, outcome });
  const refuse = (outcome: string, reason: string): null => {
    count(outcome);
    const nowMs = clock.monotonicMs();
    if (loggedAtMs === null || nowMs - loggedAtMs >= LOG_EVERY_MS) {
      loggedAtMs = nowMs;
      logger.warn('texts are stored as hashes alone, because they could not be redacted', {
        pipeline,
        reason,
      });
    }
    return null;
  };
  return async (text) => {
    const redacted = await redact(text);
    if (redacted.trim() === '') return redacted;
    const analysis = await analyzer.analyze(redacted);
    if (analysis.kind !== 'found') return refuse(analysis.kind, analysis.message);
    const clean = redactFound(redacted, analysis.entities);
    if (clean === null) return refuse('malformed', 'The service found something outside of the text.');
    count('ok');
    return clean;
  };
}

export interface PersonalDataSettings extends Pick<RedactTextDeps, 'pipeline' | 'meter' | 'logger' | 'clock'> {
  readonly privacy: Pick<PipelineConfig['privacy'], 'text' | 'patterns' | 'presidio'>;
  /** Key of the hashes. */
  readonly key: string;
  /** For long texts. */
  readonly thread: Pick<RedactionThread, 'redact'>;
}

/** What stands for a text that says what went wrong and could not be redacted. */
const REFUSED = '[REDACTED]';

/** Longer texts go to the thread: so many characters take ten milliseconds when they are made to. */
const MAX_HERE = 20_000;

/** A thousand texts come in one request. All pipelines share the turns, as they share the main thread. */
const takeTurn = createEventLoopYield(2 * MAX_HERE);

/** @throws RecalldError config_invalid for a pattern or a URL that cannot be used */
export function assertUsablePrivacy({ patterns, presidio }: PersonalDataSettings['privacy']): void {
  createRedactor({ patterns: patterns.map(({ name, regex }) => ({ name, source: regex })) });
  createAnalyzer(presidio);
}

/** @throws RecalldError as assertUsablePrivacy */
export function createPersonalData({ privacy, key, thread, ...deps }: PersonalDataSettings): PersonalData {
  const patterns = privacy.patterns.map(({ name, regex }) => ({ name, source: regex }));
  const redactHere = createRedactor({ patterns });
  // Nearly all texts are short and have their turn at once: a promise for each would cost as much as the search.
  const redact = (text: string): Promise<string> | string => {
    if (text.length > MAX_HERE) return thread.redact({ text, patterns });
    const turn = takeTurn(text.length);
    return turn === null ? redactHere(text).text : turn.then(() => redactHere(text).text);
  };
  const analyzer = createAnalyzer(privacy.presidio);
  const redactText = analyzer === null ? redact : createRedactText({ redact, analyzer, ...deps });
  const shown = (text: string | null): Promise<string | null> | string | null => {
    if (text === null || privacy.text === 'hash') return null;
    return privacy.text === 'keep' ? text : redactText(text);
  };
  // What went wrong is for operators, and may quote what was asked: in one word, too, where that names a class of errors.
  const shownError = async (error: string): Promise<string | null> =>
    privacy.text === 'hash' ? null : ((await redactText(error)) ?? REFUSED);
  const userHash = (userId: string | null): string | null => (userId === null ? null : userIdHmac(userId, key));
  const hashPeople: PersonalData['hashPeople'] = ({ id, sessionId, traceId, userId }) => ({
    sessionHash: userIdHmac(sessionId ?? traceId ?? id, key),
    userHash: userHash(userId),
  });
  const toPrivateText: PersonalData['toPrivateText'] = async (text) => {
    const stored = await shown(text);
    return { text: stored, textHash: text === null || stored !== null ? null : textHash(text, key) };
  };
  return {
    hashPeople,
    toPrivateText,
    async toPrivateQuery(query) {
      const { sessionHash, userHash } = hashPeople(query);
      const [{ text, textHash }, error] =
        query.error === null
          ? [await toPrivateText(query.text), null]
          : await Promise.all([toPrivateText(query.text), shownError(query.error)]);
      return { sessionHash, userHash, text, textHash, error };
    },
    async toPrivateFeedback({ userId, comment }) {
      return { userHash: userHash(userId), comment: await shown(comment) };
    },
    hash: (text) => textHash(text, key),
  };
}

function createAnalyzer(presidio: PipelineConfig['privacy']['presidio']): EntityAnalyzer | null {
  if (presidio === undefined) return null;
  const { url, headers, language, score_threshold: scoreThreshold, entities, concurrency } = presidio;
  return createPresidioAnalyzer({
    url,
    headers,
    language,
    scoreThreshold,
    entities: entities ?? null,
    timeoutMs: presidio.timeout_ms,
    concurrency,
    configField: 'privacy.presidio',
  });
}

/** Keyed hashes of the session, else of the trace, else of the query, and of the user. */
interface PeopleHashes {
  readonly sessionHash: string;
  readonly userHash: string | null;
}

/** At most one of the two is there. */
interface PrivateText {
  readonly text: string | null;
  readonly textHash: string | null;
}

/** What is stored of a query in the place of what could tell who asked. */
interface PrivateQuery extends PeopleHashes, PrivateText {
  readonly error: string | null;
}

interface PrivateFeedback {
  readonly userHash: string | null;
  readonly comment: string | null;
}

/**
 * What is stored in the place of what could tell who asked: redacted, hashed with a key, or left out. What cannot be
 * made private is left out, and what is found by a service takes no longer than its timeout. Rejects with RecalldError
 * overloaded alone, when too many long texts wait: nothing is stored then.
 */
export interface PersonalData {
  hashPeople(query: Pick<LiveQuery, 'id' | 'traceId' | 'sessionId' | 'userId'>): PeopleHashes;
  toPrivateText(text: string | null): Promise<PrivateText>;
  toPrivateQuery(query: LiveQuery): Promise<PrivateQuery>;
  toPrivateFeedback(feedback: Feedback): Promise<PrivateFeedback>;
  /** A keyed hash of any text. */
  hash(text: string): string;
}

/**
 * The key of the hashes that stand for people, made at the first call and the same for every process of the database.
 * Whoever can read the database can read it too; a key in the config keeps the two apart.
 */
export async function storedHashKey(pool: Pool): Promise<string> {
  await pool.query(`insert into hash_keys (name, key) values ('people', $1::text) on conflict do nothing`, [
    randomBytes(32).toString('hex'),
  ]);
  const { rows } = await pool.query<{ key: string }>(`select key from hash_keys where name = 'people'`);
  if (rows[0] === undefined) throw new Error('the hash key is gone right after it was made');
  return rows[0].key;
}
