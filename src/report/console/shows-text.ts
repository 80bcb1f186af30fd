import type { Context } from '../../core/context.ts';
import { partsOfPipelineName } from '../../golden/watched-pipeline.ts';

/** False in hash mode, even for stored texts, and for a pipeline whose privacy settings are unknown. */
export function showsTextOf({ config }: Context, pipeline: string): boolean {
  const { pipeline: name } = partsOfPipelineName(pipeline);
  const found = config.pipelines.find((one) => one.name === name);
  return found !== undefined && found.privacy.text !== 'hash';
}
