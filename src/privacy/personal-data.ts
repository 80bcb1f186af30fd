/** What takes the place of people in the database, by the privacy section of a pipeline. */

import type { PipelineConfig } from '../app/config/schema.ts';
import { createEventLoopYield } from '../threads/event-loop-yield.ts';
import { createPresidioAnalyzer } from './entity-analyzer/presidio.ts';
import type { EntityAnalyzer } from './entity-analyzer.ts';
import type { PersonalData } from './ingest/personal-data.ts';
import { createRedactText, type RedactTextDeps } from './ingest/redact-text.ts';
import type { RedactionThread } from './redaction/redaction-thread.ts';
import { textHash, userIdHmac } from './rules/keyed-hash.ts';
import { createRedactor } from './rules/redactor.ts';

export interface PersonalDataSettings
  extends Pick<RedactTextDeps, 'pipeline' | 'meter' | 'logger' | 'clock'> {
  readonly privacy: Pick<PipelineConfig['privacy'], 'text' | 'patterns' | 'presidio'>;
  /** Key of the hashes. */
  readonly key: string;
  /** For long texts. */
  readonly thread: Pick<RedactionThread, 'redact'>;
}

/** What stands for a text that says what went wrong and could not be redacted. */
const REFUSED = '[REDACTED]';

/** Longer texts go to the thread: so many characters take ten milliseconds when they are made to. */
const LONGEST_HERE = 20_000;

/** A thousand texts come in one request. All pipelines share the turns, as they share the main thread. */
const takeTurn = createEventLoopYield(2 * LONGEST_HERE);

/** @throws RecalldError config_invalid for a pattern or a URL that cannot be used */
export function createPersonalData({ privacy, key, thread, ...deps }: PersonalDataSettings): PersonalData {
  const patterns = privacy.patterns.map(({ name, regex }) => ({ name, source: regex }));
  const redactHere = createRedactor({ patterns });
  // Nearly all texts are short and have their turn at once: a promise for each would cost as much as the search.
  const redact = (text: string): Promise<string> | string => {
    if (text.length > LONGEST_HERE) return thread.redact({ text, patterns });
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
  const userHash = (userId: string | null): string | null =>
    userId === null ? null : userIdHmac(userId, key);
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
