/** What `recalld diagnose` does with the database of the config. */

import { diagnoseNow } from '../../diagnosis/diagnose-pipeline.ts';
import {
  type DiagnosisJson,
  diagnosisJson,
  type FindingsJson,
  findingsJson,
} from '../../diagnosis/schema.ts';
import { assertConfiguredPipeline } from '../pipelines.ts';
import type { CommandSettings } from './command-store.ts';
import { withWatchedStore } from './watched-store.ts';

export interface PipelineDiagnosis {
  readonly pipeline: string;
  /** The latest that the daemon kept; null when it found nothing in alarm ever. */
  readonly latest: DiagnosisJson | null;
  /** What is likely now, by what is stored; null when nothing is in alarm. */
  readonly now: FindingsJson | null;
}

/**
 * @param only name of one pipeline; null for all of the config
 * @throws RecalldError pipeline_unknown, and as withWatchedStore
 */
export async function readDiagnoses(
  settings: CommandSettings,
  only: string | null,
): Promise<readonly PipelineDiagnosis[]> {
  if (only !== null) assertConfiguredPipeline(settings.config, only);
  return withWatchedStore(settings, async (store) => {
    const answers: PipelineDiagnosis[] = [];
    for (const pipeline of store.pipelines.filter(({ name }) => only === null || name === only)) {
      const [latest] = await store.diagnoses.list({ pipeline: pipeline.name, limit: 1 });
      const found = await diagnoseNow(store, pipeline);
      answers.push({
        pipeline: pipeline.name,
        latest: latest === undefined ? null : diagnosisJson(latest),
        now: found === null ? null : findingsJson(found),
      });
    }
    return answers;
  });
}
