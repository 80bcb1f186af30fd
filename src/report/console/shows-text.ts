import type { Context } from '../../core/context.ts';
import { partsOfPipelineName } from '../../golden/watched-pipeline.ts';

/**
 * False for a pipeline in hash mode: no text of a query is shown then, whatever is stored. Also false for a pipeline
 * that is no longer in the config, since its privacy settings are unknown.
 */
export function showsTextOf({ config }: Context, pipeline: string): boolean {
  const { pipeline: name } = partsOfPipelineName(pipeline);
  const found = config.pipelines.find((one) => one.name === name);
  return found !== undefined && found.privacy.text !== 'hash';
}
