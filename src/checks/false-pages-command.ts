/** What `recalld config check` tells of the false pages of a config, as a table for people and as JSON. */

import { type CommandSettings, withCommandStore } from '../app/commands/command-store.ts';
import { periodBudget } from '../app/config/alerts.ts';
import { formatTable } from '../cli/output.ts';
import { createDensityPlans } from '../density/plan.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import { liveIntervalSeconds } from '../live/live-jobs.ts';
import { systemClock } from '../system-clock.ts';
import { expectFalsePages } from './false-pages.ts';
import { COUNTED_DAYS, type ExpectedOfCheck, type ExpectedOfPipeline } from './rules/false-pages.ts';

/**
 * Expects the false pages of each pipeline of the config.
 *
 * @param useRuns whether the latest stored runs tell how much room floors have, which takes the database
 * @throws RecalldError as withCommandStore, with `useRuns`
 */
export async function expectFalsePagesOf(
  settings: CommandSettings,
  pipelines: readonly WatchedPipeline[],
  useRuns: boolean,
): Promise<ExpectedOfPipeline[]> {
  const { config } = settings;
  const deps = {
    now: systemClock.now(),
    densityPlans: createDensityPlans(config, pipelines),
    liveIntervalSeconds: liveIntervalSeconds(systemClock),
    latest: useRuns ? await withCommandStore(settings, ({ runs }) => runs.latest()) : null,
    budget: periodBudget(config.alerts.false_pages.per_pipeline),
  };
  return pipelines.map((pipeline) => expectFalsePages(deps, pipeline));
}

/**
 * A table of the checks that page and their sum, what the numbers rest on, and a warning for each pipeline above its
 * budget; empty when no check pages.
 */
export function formatFalsePages(pipelines: readonly ExpectedOfPipeline[], budget: string): string {
  const paging = pipelines.filter(({ checks }) => checks.length > 0);
  if (paging.length === 0) return '';
  const rows = paging.flatMap(({ pipeline, checks, expected, accepted }) => [
    ...checks.map((check, index) => [
      index === 0 ? pipeline : '',
      check.name,
      check.looks === null ? '-' : `${check.looks}`,
      check.expected === null ? 'not known' : format(check.expected),
    ]),
    ['', `all, of ${format(accepted)} accepted`, '', format(expected)],
  ]);
  const head = ['pipeline', 'check', `looks in ${COUNTED_DAYS} days`, `false pages in ${COUNTED_DAYS} days`];
  const provisos = paging.flatMap(({ pipeline, checks }) =>
    checks
      .filter(({ proviso }) => proviso !== '')
      .map(({ name, expected, proviso }) => `${pipeline}, ${name}: ${told(expected)} ${proviso}.`),
  );
  const warnings = paging.flatMap((of) => warningOf(of, budget) ?? []);
  return [
    formatTable(head, rows, 2),
    ...(provisos.length === 0 ? [] : ['', ...provisos]),
    ...(warnings.length === 0 ? [] : ['', ...warnings.map((sentence) => `Warning: ${sentence}`)]),
  ].join('\n');
}

/** A sentence with the way out when more is expected than accepted, else null. */
function warningOf(
  { pipeline, checks, expected, accepted }: ExpectedOfPipeline,
  budget: string,
): string | null {
  if (expected <= accepted) return null;
  const worst = checks.reduce((a, b) => ((b.expected ?? 0) > (a.expected ?? 0) ? b : a));
  return (
    `${pipeline} is expected to page ${format(expected)} times in ${COUNTED_DAYS} days with nothing wrong, above ` +
    `alerts.false_pages.per_pipeline (${budget}). Of ${worst.name}, ${worst.remedy} or make it a warning.`
  );
}

export function falsePagesJson(of: ExpectedOfPipeline, budget: string) {
  return {
    pipeline: of.pipeline,
    days: COUNTED_DAYS,
    expected: of.expected,
    accepted: of.accepted,
    warning: warningOf(of, budget),
    checks: of.checks.map(({ name, looks, expected, proviso }) => ({ name, looks, expected, proviso })),
  };
}

function told(expected: ExpectedOfCheck['expected']): string {
  return expected === null ? 'not known' : format(expected);
}

function format(pages: number): string {
  return pages.toFixed(2);
}
