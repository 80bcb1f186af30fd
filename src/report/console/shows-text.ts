import type { Context } from '../../core/context.ts';
import { partsOfPipelineName } from '../../golden/watched-pipeline.ts';

/**
 * Returns true if query texts may be shown. Returns false if the pipeline is in hash mode, even if texts are stored.
 * Also returns false if the pipeline is no longer in the config, because its privacy settings are then unknown.
 */
export function showsTextOf({ config }: Context, pipeline: string): boolean {
  const { pipeline: name } = partsOfPipelineName(pipeline);
  const found = config.pipelines.find((one) => one.name === name);
  return found !== undefined && found.privacy.text !== 'hash';
}
