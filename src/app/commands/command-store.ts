/** What a command of the CLI works on: golden sets and runs in the database of the config. */
import { statisticsOfCommands } from '../../adapters/compute/golden-statistics.ts';
import { createApiKeys } from '../../adapters/postgres/api-keys.ts';
import { createUncoveredTopics } from '../../adapters/postgres/density/uncovered-topics.ts';
import { createDeployments } from '../../adapters/postgres/deployments.ts';
import { createDiagnoses } from '../../adapters/postgres/diagnoses.ts';
import { createGoldenBaselines } from '../../adapters/postgres/golden/golden-baselines.ts';
import { createGoldenDocuments } from '../../adapters/postgres/golden/golden-documents.ts';
import { createGoldenRotations } from '../../adapters/postgres/golden/golden-rotations.ts';
import { createGoldenRuns } from '../../adapters/postgres/golden/golden-runs.ts';
import { createGoldenSets } from '../../adapters/postgres/golden/golden-sets.ts';
import { createLiveSamples } from '../../adapters/postgres/live/live-samples.ts';
import { createRetrieverLimits } from '../../adapters/postgres/retriever-limits.ts';
import type { Config } from '../../contracts/config/schema.ts';
import type { ApiKeys } from '../../ports/api-keys.ts';
import type { Deployments } from '../../ports/deployments.ts';
import type { Diagnoses } from '../../ports/diagnoses.ts';
import type { GoldenBaselines } from '../../ports/golden-baselines.ts';
import type { GoldenDocuments } from '../../ports/golden-documents.ts';
import type { GoldenRotations } from '../../ports/golden-rotations.ts';
import type { GoldenRuns } from '../../ports/golden-runs.ts';
import type { GoldenSets } from '../../ports/golden-sets.ts';
import type { GoldenStatistics } from '../../ports/golden-statistics.ts';
import type { LiveSamples } from '../../ports/live-samples.ts';
import type { RetrieverLimits } from '../../ports/retriever-limits.ts';
import type { Logger } from '../../ports/telemetry.ts';
import type { UncoveredTopics } from '../../ports/uncovered-topics.ts';
import { createCleanupStack } from '../cleanup-stack.ts';
import { openStorage, type Storage } from '../storage.ts';

/** What the connections of a command are called in `pg_stat_activity`. */
export const COMMAND_NAME = 'recalld command';

export interface CommandSettings {
  readonly config: Config;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** What is stored of golden runs, what they are compared with and how. */
export interface GoldenStore {
  readonly sets: GoldenSets;
  readonly runs: GoldenRuns;
  readonly baselines: GoldenBaselines;
  readonly statistics: GoldenStatistics;
}

export interface CommandStore extends GoldenStore {
  readonly keys: ApiKeys;
  readonly deployments: Deployments;
  readonly diagnoses: Diagnoses;
  readonly rotations: GoldenRotations;
  readonly limits: RetrieverLimits;
  readonly topics: UncoveredTopics;
  readonly documents: GoldenDocuments;
  readonly samples: LiveSamples;
  readonly storage: Storage;
}

/**
 * Opens the store for the length of `work`: that of the daemon that runs on the data folder, or one of its own.
 *
 * @throws RecalldError as openStorage, and what `work` throws
 */
export async function withCommandStore<T>(
  settings: CommandSettings,
  work: (store: CommandStore) => Promise<T>,
): Promise<T> {
  const cleanups = createCleanupStack(settings.logger);
  try {
    const storage = await openStorage({ ...settings, purpose: 'command', name: COMMAND_NAME, cleanups });
    const { pool } = storage;
    return await work({
      sets: createGoldenSets(pool),
      runs: createGoldenRuns(pool),
      keys: createApiKeys(pool),
      baselines: createGoldenBaselines(pool),
      deployments: createDeployments(pool),
      diagnoses: createDiagnoses(pool),
      rotations: createGoldenRotations(pool),
      limits: createRetrieverLimits(pool),
      topics: createUncoveredTopics(pool),
      documents: createGoldenDocuments(pool),
      samples: createLiveSamples(pool),
      statistics: statisticsOfCommands,
      storage,
    });
  } finally {
    await cleanups.run();
  }
}
