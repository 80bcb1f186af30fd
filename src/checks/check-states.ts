/** The checks of the config, and how they stand. Everybody who says how a check stands reads it here. */

import type { Clock } from '../clock.ts';
import type { DensityPlan } from '../density/plan.ts';
import { DENSITY_CHECK_NAME, DENSITY_CHECK_THRESHOLD } from '../density/rules/density-check.ts';
import type { WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { Verdict } from '../model.ts';
import type { CheckStore } from './check-store.ts';
import type { CheckShifts } from './rules/check-shift.ts';
import { type CheckStanding, type CheckState, type ConfiguredCheck, stateAt } from './rules/check-state.ts';
import { listGoldenChecks } from './rules/golden-checks.ts';
import { thresholdCheckName } from './rules/threshold.ts';

/** What the config expects. */
export interface WatchedChecks {
  readonly pipelines: readonly Pick<WatchedPipeline, 'name' | 'golden' | 'checks' | 'thresholds'>[];
  readonly densityPlans: readonly Pick<DensityPlan, 'pipeline' | 'severity'>[];
}

export interface ReadChecksDeps extends WatchedChecks {
  readonly checkStore: Pick<CheckStore, 'standings'>;
  readonly clock: Clock;
}

/** How every check of the config stands now, in the order of the config. */
export async function readCheckStates({
  checkStore,
  clock,
  ...watched
}: ReadChecksDeps): Promise<CheckState[]> {
  return statesOf(watched, await checkStore.standings(), clock.now());
}

/** How the check on the density drift of a pipeline stands now; null when the config has none. */
export async function readDensityVerdict(
  deps: ReadChecksDeps,
  pipeline: string,
): Promise<{ readonly verdict: Verdict; readonly explanation: string } | null> {
  const states = await readCheckStates(deps);
  const check = states.find((one) => one.pipeline === pipeline && one.name === DENSITY_CHECK_NAME);
  return check === undefined ? null : { verdict: check.verdict, explanation: explain(check) };
}

/** What there is to say of a check, one or two sentences. */
export function explain({ explanation, isTooOld }: Pick<CheckState, 'explanation' | 'isTooOld'>): string {
  if (explanation === null) return 'Nothing has judged it yet.';
  return isTooOld ? `What judged it last is too old to trust: ${explanation}` : explanation;
}

export function statesOf(
  watched: WatchedChecks,
  standings: readonly CheckStanding[],
  now: Date,
): CheckState[] {
  const stored = new Map(standings.map((one) => [keyOf(one), one]));
  return configuredChecks(watched).map((check) => stateAt(check, stored.get(keyOf(check)) ?? null, now));
}

/** What tells a check of one pipeline from all others. */
export function keyOf({ pipeline, name }: { readonly pipeline: string; readonly name: string }): string {
  return JSON.stringify([pipeline, name]);
}

function configuredChecks({ pipelines, densityPlans }: WatchedChecks): ConfiguredCheck[] {
  return pipelines.flatMap((pipeline) => [
    ...pipeline.golden.flatMap(({ set }) => goldenChecksOf(pipeline, set)),
    ...pipeline.thresholds.map((check) => ({
      pipeline: pipeline.name,
      goldenSet: null,
      name: thresholdCheckName(check),
      severity: check.severity,
      threshold: check.threshold,
      isQuietAtFirst: false,
    })),
    ...densityPlans.flatMap((plan) =>
      plan.pipeline !== pipeline.name || plan.severity === null
        ? []
        : [
            {
              pipeline: pipeline.name,
              goldenSet: null,
              name: DENSITY_CHECK_NAME,
              severity: plan.severity,
              threshold: DENSITY_CHECK_THRESHOLD,
              // A baseline takes days to be learnt, and nothing is broken meanwhile.
              isQuietAtFirst: true,
            },
          ],
    ),
  ]);
}

/** The checks on one golden set of a pipeline. */
export function goldenChecksOf(
  { name: pipeline, checks }: Pick<WatchedPipeline, 'name' | 'checks'>,
  goldenSet: string,
  shifts?: CheckShifts,
): ConfiguredCheck[] {
  return listGoldenChecks(checks, goldenSet, shifts).map((check) => ({
    ...check,
    pipeline,
    goldenSet,
    isQuietAtFirst: false,
  }));
}
