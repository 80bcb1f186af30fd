import type { Context } from '../../core/context.ts';
import { partsOfPipelineName } from '../../golden/watched-pipeline.ts';

/**
 * Returns true if query texts may be shown. In hash mode, they may not be shown even if texts are stored. The texts of
 * a pipeline that is no longer in the config may not be shown either, because its privacy settings are unknown.
 */
export function showsTextOf({ config }: Context, pipeline: string): boolean {
  const { pipeline: name } = partsOfPipelineName(pipeline);
  const found = config.pipelines.find((one) => one.name === name);
  return found !== undefined && found.privacy.text !== 'hash';
}
