/** The daemon: config in, a running monitor out. Stopping mirrors starting. */
import type { Config } from '../contracts/config/schema.ts';
import type { RecalldError } from '../core/errors.ts';
import type { Logger } from '../ports/telemetry.ts';
import { createCleanupStack } from './cleanup-stack.ts';
import { openDependencies } from './dependencies.ts';
import { showFace } from './face.ts';
import { newRunId } from './run-id.ts';
import { startScheduler } from './scheduler.ts';
import { startWorkers } from './workers.ts';

export type Role = 'api' | 'worker' | 'scheduler';

export const roles: readonly Role[] = ['api', 'worker', 'scheduler'];

export interface MonitorSettings {
  readonly config: Config;
  readonly roles: readonly Role[];
  readonly logger: Logger;
  /** Stops a start that is under way. */
  readonly signal: AbortSignal;
}

export interface Monitor {
  /** Where /metrics, /livez and /readyz answer. */
  readonly url: string;
  /** Resolves with the reason when the monitor cannot go on. */
  readonly lost: Promise<RecalldError>;
  /** Gives everything back, last opened first. Runs once. */
  stop(): Promise<void>;
}

/** Opens everything in order; when a step fails, what was opened before is closed again. */
export async function startMonitor({
  config,
  roles: active,
  logger,
  signal,
}: MonitorSettings): Promise<Monitor> {
  const cleanups = createCleanupStack(logger);
  try {
    const dependencies = await openDependencies(config, logger, cleanups, signal);
    if (active.includes('worker')) await startWorkers(dependencies, cleanups);
    const url = await showFace(dependencies, active.includes('api'), cleanups);
    if (active.includes('scheduler')) await startScheduler({ ...dependencies, newRunId });
    return { url, lost: dependencies.storage.lost, stop: () => cleanups.run() };
  } catch (error) {
    await cleanups.run();
    throw error;
  }
}
