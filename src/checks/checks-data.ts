/** What the page of checks and its parts are made from. */

import type { ConsoleDeps } from '../app/console/deps.ts';
import type { Query } from '../console/http/visit.ts';
import type { TimeRange } from '../console/time-range.ts';
import type { Incident } from '../diagnosis/rules/incident.ts';
import { chosen, namesOf } from '../status/status-reads.ts';
import type { CheckTransition } from './check-store.ts';
import type { CheckState } from './rules/check-state.ts';

export interface ChecksPageData {
  /** Of the chosen pipeline and check. */
  readonly checks: readonly CheckState[];
  /** Those that are open. */
  readonly incidents: readonly Incident[];
  /** Changes within the range, newest first. */
  readonly transitions: readonly CheckTransition[];
  /** Id behind which older ones are; null when there are none. */
  readonly older: string | null;
  /** Whether these are all changes within the range. */
  readonly isWhole: boolean;
  readonly pipelines: readonly string[];
  /** Null: all of them. */
  readonly pipeline: string | null;
  /** Null: all of them. */
  readonly check: string | null;
}

const MAX_TRANSITIONS = 100;

/** @throws RecalldError pipeline_unknown */
export async function readChecksPage(
  deps: ConsoleDeps,
  query: Query,
  { from, until }: TimeRange,
): Promise<ChecksPageData> {
  const pipeline = chosen(deps, query);
  const check = query['check'] === undefined || query['check'] === '' ? null : query['check'];
  const before = /^\d{1,18}$/.test(query['before'] ?? '') ? query['before'] : undefined;
  const [checks, incidents, found] = await Promise.all([
    deps.readCheckStates(),
    deps.incidents.open(),
    deps.checkStore.transitions({
      since: from,
      until,
      limit: MAX_TRANSITIONS + 1,
      ...(pipeline === null ? {} : { pipeline }),
      ...(check === null ? {} : { check }),
      ...(before === undefined ? {} : { before }),
    }),
  ]);
  const transitions = found.slice(0, MAX_TRANSITIONS);
  const hasMore = found.length > transitions.length;
  return {
    pipeline,
    check,
    pipelines: namesOf(deps),
    checks: checks.filter(
      (one) => (pipeline === null || one.pipeline === pipeline) && (check === null || one.name === check),
    ),
    incidents,
    transitions,
    older: hasMore ? (transitions.at(-1)?.id ?? null) : null,
    isWhole: before === undefined && !hasMore,
  };
}
