/** Reads the data for the deployments page, and determines the pipeline that a page is about. */
import type { Context } from '../../core/context.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
import type { Query } from '../console/http/visit.ts';
import { type TimeRange, within } from '../console/links.ts';

const MAX_DEPLOYMENTS = 200;

/** @throws RecalldError pipeline_unknown */
export async function readDeploymentsPage(context: Context, query: Query, range: TimeRange) {
  const { from, until } = range;
  const pipeline = chosen(context, query);
  const { annotations, deployments: table } = context.db.live;
  const found = await table.list({
    since: from,
    limit: MAX_DEPLOYMENTS,
    ...(pipeline === null ? {} : { pipeline }),
  });
  const deployments = found.filter(({ occurredAt }) => occurredAt <= until);
  const ids = deployments.map(({ id }) => id);
  return {
    pipeline,
    pipelines: context.pipelines.map(({ name }) => name),
    deployments,
    notes: await annotations.of('deployment', ids),
    address: within(range, '/deployments', { pipeline }),
  };
}

/**
 * Returns the pipeline that the query string selects; null if it selects all pipelines.
 *
 * @throws RecalldError pipeline_unknown
 */
export function chosen({ pipelines }: Context, { pipeline = '' }: Query): string | null {
  return pipeline === '' ? null : findPipeline(pipelines, pipeline).name;
}
