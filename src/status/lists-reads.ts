/** What the page of deployments is made from, and what all pages over several pipelines ask. */

import type { ConsoleDeps } from '../app/console/deps.ts';
import type { Query } from '../console/http/visit.ts';
import type { TimeRange } from '../console/time-range.ts';
import type { DeploymentsPageData } from '../deployments/deployments-page.tsx';

const MOST_DEPLOYMENTS = 200;

/** @throws RecalldError pipeline_unknown */
export async function readDeploymentsPage(
  deps: ConsoleDeps,
  query: Query,
  { from, until }: TimeRange,
): Promise<DeploymentsPageData> {
  const pipeline = chosen(deps, query);
  const found = await deps.deployments.list({
    since: from,
    limit: MOST_DEPLOYMENTS,
    ...(pipeline === null ? {} : { pipeline }),
  });
  const deployments = found.filter(({ occurredAt }) => occurredAt <= until);
  const ids = deployments.map(({ id }) => id);
  return {
    pipeline,
    pipelines: namesOf(deps),
    deployments,
    notes: await deps.annotations.of('deployment', ids),
  };
}

export function chosen(deps: ConsoleDeps, { pipeline = '' }: Query): string | null {
  if (pipeline === '') return null;
  deps.assertPipeline(pipeline);
  return pipeline;
}

export function namesOf({ site }: ConsoleDeps): string[] {
  return site.pipelines.map(({ name }) => name);
}
