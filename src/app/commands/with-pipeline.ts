/** One pipeline of the config for the length of a command. */

import { findPipeline, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { closePipelines, createPipelines } from '../pipelines.ts';
import type { CommandSettings } from './command-store.ts';

/** @throws RecalldError config_invalid, pipeline_unknown, and what `work` throws */
export async function withPipeline<T>(
  { config, logger }: CommandSettings,
  name: string,
  work: (pipeline: WatchedPipeline) => Promise<T>,
): Promise<T> {
  const pipelines = createPipelines(config, logger);
  try {
    return await work(findPipeline(pipelines, name));
  } finally {
    await closePipelines(pipelines);
  }
}
