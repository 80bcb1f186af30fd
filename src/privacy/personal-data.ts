/** What takes the place of people in the database, by the privacy section of a pipeline. */

import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { PipelineConfig } from '../app/config/schema.ts';
import type { Clock } from '../clock.ts';
import type { Feedback, LiveQuery } from '../live/rules/live-query.ts';
import type { Logger } from '../logger.ts';
import type { Meter } from '../metrics/meter.ts';
import { createEventLoopYield } from '../threads/event-loop-yield.ts';
import { createPresidioAnalyzer, type EntityAnalyzer } from './entity-analyzer.ts';
import type { RedactionThread } from './redaction/redaction-thread.ts';
import { redactFound } from './rules/found-entities.ts';
import { textHash, userIdHmac } from './rules/keyed-hash.ts';
import { createRedactor } from './rules/redactor.ts';

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
  const ofPeople: PersonalData['ofPeople'] = ({ id, sessionId, traceId, userId }) => ({
    sessionHash: userIdHmac(sessionId ?? traceId ?? id, key),
    userHash: userHash(userId),
  });
  const ofText: PersonalData['ofText'] = async (text) => {
    const stored = await shown(text);
    return { text: stored, textHash: text === null || stored !== null ? null : textHash(text, key) };
  };
  return {
    ofPeople,
    ofText,
    async ofQuery(query) {
      const { sessionHash, userHash } = ofPeople(query);
      const [{ text, textHash }, error] =
        query.error === null
          ? [await ofText(query.text), null]
          : await Promise.all([ofText(query.text), shownError(query.error)]);
      return { sessionHash, userHash, text, textHash, error };
    },
    async ofFeedback({ userId, comment }) {
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
  ofPeople(query: Pick<LiveQuery, 'id' | 'traceId' | 'sessionId' | 'userId'>): PeopleHashes;
  ofText(text: string | null): Promise<PrivateText>;
  ofQuery(query: LiveQuery): Promise<PrivateQuery>;
  ofFeedback(feedback: Feedback): Promise<PrivateFeedback>;
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
