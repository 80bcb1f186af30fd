/** Texts -> redacted texts, by our own rules and then by a service that knows names. It never fails open. */

import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import type { Meter } from '../../metrics/meter.ts';
import type { EntityAnalyzer } from '../entity-analyzer.ts';
import { redactFound } from '../rules/found-entities.ts';

export interface RedactTextDeps {
  readonly pipeline: string;
  /** By our own rules. */
  readonly redact: (text: string) => Promise<string> | string;
  readonly analyzer: EntityAnalyzer;
  readonly meter: Meter;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Null for a text that could not be looked at and so must not be stored. Rejects as `redact` of its settings does. */
export type RedactText = (text: string) => Promise<string | null>;

/** A service that is down fails with every text; once a minute is enough to know. */
const LOG_EVERY_MS = 60_000;

/** The service sees a text only after our own rules took out what they find. */
export function createRedactText(deps: RedactTextDeps): RedactText {
  const { pipeline, redact, analyzer, meter, logger, clock } = deps;
  let loggedAtMs: number | null = null;
  const count = (outcome: string): void =>
    meter.increment('recalld_redaction_service_total', { pipeline, outcome });
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
