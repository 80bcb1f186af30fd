/** What a command of the CLI works on: golden sets and runs in the database of the config. */
import { createApiKeys } from '../../access/api-keys.ts';
import type { ApiKeys } from '../../access/ports/api-keys.ts';
import { createCleanupStack } from '../../cleanup-stack.ts';
import { densityTables, type TopicsTable } from '../../density/index.ts';
import { createDeployments } from '../../deployments/deployments.ts';
import type { Deployments } from '../../deployments/ports/deployments.ts';
import { createDiagnoses } from '../../diagnosis/diagnoses.ts';
import type { Diagnoses } from '../../diagnosis/ports/diagnoses.ts';
import { statisticsOfCommands } from '../../golden/golden-statistics.ts';
import type { GoldenStore } from '../../golden/runs/stored-runs.ts';
import { createGoldenBaselines } from '../../golden/sql/golden-baselines.ts';
import { createGoldenDocuments, type GoldenDocuments } from '../../golden/sql/golden-documents.ts';
import { createGoldenRotations, type GoldenRotations } from '../../golden/sql/golden-rotations.ts';
import { createGoldenRuns } from '../../golden/sql/golden-runs.ts';
import { createGoldenSets } from '../../golden/sql/golden-sets.ts';
import { createRetrieverLimits, type RetrieverLimits } from '../../golden/sql/retriever-limits.ts';
import type { LiveSamples } from '../../live/ports/live-samples.ts';
import { createLiveSamples } from '../../live/sql/live-samples.ts';
import type { Logger } from '../../logger.ts';
import type { Config } from '../config/schema.ts';
import { openStorage, type Storage } from '../storage.ts';

/** What the connections of a command are called in `pg_stat_activity`. */
export const COMMAND_NAME = 'recalld command';

export interface CommandSettings {
  readonly config: Config;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface CommandStore extends GoldenStore {
  readonly keys: ApiKeys;
  readonly deployments: Deployments;
  readonly diagnoses: Diagnoses;
  readonly rotations: GoldenRotations;
  readonly limits: RetrieverLimits;
  readonly topics: TopicsTable;
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
      topics: densityTables(pool).topics,
      documents: createGoldenDocuments(pool),
      samples: createLiveSamples(pool),
      statistics: statisticsOfCommands,
      storage,
    });
  } finally {
    await cleanups.run();
  }
}
