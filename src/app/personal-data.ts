/** What takes the place of people in the database, by the privacy section of a pipeline. */
import type { PipelineConfig } from '../contracts/config/schema.ts';
import { textHash, userIdHmac } from '../core/privacy/keyed-hash.ts';
import { createRedactor } from '../core/privacy/redactor.ts';
import type { PersonalData } from '../pipeline/personal-data.ts';

/** @throws RecalldError config_invalid for a pattern that cannot be used */
export function createPersonalData(privacy: PipelineConfig['privacy'], key: string): PersonalData {
  const redact = createRedactor({
    patterns: privacy.patterns.map(({ name, regex }) => ({ name, source: regex })),
  });
  const shown = (text: string | null): string | null => {
    if (text === null || privacy.text === 'hash') return null;
    return privacy.text === 'keep' ? text : redact(text).text;
  };
  const userHash = (userId: string | null): string | null =>
    userId === null ? null : userIdHmac(userId, key);
  return {
    ofQuery: (query) => ({
      sessionHash: userIdHmac(query.sessionId ?? query.traceId ?? query.id, key),
      text: shown(query.text),
      textHash: query.text === null || privacy.text !== 'hash' ? null : textHash(query.text, key),
      userHash: userHash(query.userId),
      // What went wrong is for operators, and may quote what was asked.
      error: query.error === null ? null : redact(query.error).text,
    }),
    ofFeedback: ({ userId, comment }) => ({ userHash: userHash(userId), comment: shown(comment) }),
    hash: (text) => textHash(text, key),
  };
}
