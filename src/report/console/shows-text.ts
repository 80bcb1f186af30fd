import type { Context } from '../../core/context.ts';
import { partsOfPipelineName } from '../../golden/watched-pipeline.ts';

/**
 * Returns false for a pipeline in hash mode, for which no query texts are shown even if some are stored. Also returns
 * false for a pipeline that is no longer in the config, because its privacy settings are unknown.
 */
export function showsTextOf({ config }: Context, pipeline: string): boolean {
  const { pipeline: name } = partsOfPipelineName(pipeline);
  const found = config.pipelines.find((one) => one.name === name);
  return found !== undefined && found.privacy.text !== 'hash';
}
