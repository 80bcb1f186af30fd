/** What the pages over all pipelines are made from. */
import type { ChecksPageData } from '../../console/pages/checks-data.ts';
import type { DeploymentsPageData } from '../../console/pages/deployments-page.tsx';
import type { TimeRange } from '../../console/time-range.ts';
import type { ConsoleDeps } from './deps.ts';
import type { Query } from './visit.ts';

const MOST_DEPLOYMENTS = 200;
const MOST_TRANSITIONS = 100;

/** @throws RecalldError pipeline_unknown */
export async function readChecksPage(
  deps: ConsoleDeps,
  query: Query,
  { from, until }: TimeRange,
): Promise<ChecksPageData> {
  const pipeline = chosen(deps, query);
  const check = query['check'] === undefined || query['check'] === '' ? null : query['check'];
  const before = /^\d{1,18}$/.test(query['before'] ?? '') ? query['before'] : undefined;
  const [checks, standings, diagnoses, found] = await Promise.all([
    deps.readCheckStates(),
    deps.history.standings(),
    deps.diagnoses.open(),
    deps.history.transitions({
      since: from,
      until,
      limit: MOST_TRANSITIONS + 1,
      ...(pipeline === null ? {} : { pipeline }),
      ...(check === null ? {} : { check }),
      ...(before === undefined ? {} : { before }),
    }),
  ]);
  const transitions = found.slice(0, MOST_TRANSITIONS);
  const hasMore = found.length > transitions.length;
  return {
    pipeline,
    check,
    pipelines: namesOf(deps),
    checks: checks.filter(
      (one) => (pipeline === null || one.pipeline === pipeline) && (check === null || one.name === check),
    ),
    standings,
    diagnoses,
    transitions,
    older: hasMore ? (transitions.at(-1)?.id ?? null) : null,
    isWhole: before === undefined && !hasMore,
  };
}

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

function chosen(deps: ConsoleDeps, { pipeline = '' }: Query): string | null {
  if (pipeline === '') return null;
  deps.assertPipeline(pipeline);
  return pipeline;
}

function namesOf({ site }: ConsoleDeps): string[] {
  return site.pipelines.map(({ name }) => name);
}
