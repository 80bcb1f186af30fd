/** Starts the embedded PostgreSQL again when it ends by itself, so that a daemon outlives its database. */

import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { EmbeddedPostgres } from '../postgres/embedded/open.ts';
import { messageOf } from '../text/error-message.ts';

/** Between two starts: what dies over and over shall not keep the machine busy with its recovery. */
const RESTART_EVERY_MS = 60_000;

export interface EmbeddedWatch {
  /** Why the database is away and when it is started again, in sentences; null while it runs. */
  trouble(): string | null;
  /** Starts it no more. */
  stop(): void;
}

export function watchEmbedded(
  database: Pick<EmbeddedPostgres, 'died' | 'restart'>,
  clock: Clock,
  logger: Logger,
): EmbeddedWatch {
  const stopping = new AbortController();
  let trouble: string | null = null;
  let startedAtMs = Number.NEGATIVE_INFINITY;
  const startInTime = async (reason: string): Promise<void> => {
    const waitMs = Math.max(0, startedAtMs + RESTART_EVERY_MS - clock.monotonicMs());
    const at = new Date(clock.now().getTime() + waitMs).toISOString();
    trouble = `${reason} It is started again at ${at}.`;
    logger.error('the embedded PostgreSQL is away', { reason, started_again_at: at });
    await clock.sleep(waitMs, stopping.signal);
    startedAtMs = clock.monotonicMs();
    await database.restart();
    trouble = null;
    logger.info('the embedded PostgreSQL runs again');
  };
  const watch = async (): Promise<void> => {
    for (;;) {
      let reason = (await database.died).message;
      while (!stopping.signal.aborted) {
        try {
          await startInTime(reason);
          break;
        } catch (error) {
          reason = messageOf(error);
        }
      }
      if (stopping.signal.aborted) return;
    }
  };
  void watch();
  return { trouble: () => trouble, stop: () => stopping.abort() };
}
