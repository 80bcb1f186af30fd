/** Which pipelines of the config run a golden set, and how. */
import type { Config } from '../../app/config/schema.ts';
import { createGoldenSchedule, goldenChecks } from '../../app/pipelines.ts';
import type { SetUse } from '../sets/set-power.ts';

export function usesOf({ pipelines }: Config, name: string): SetUse[] {
  return pipelines.flatMap((pipeline) =>
    pipeline.golden
      .filter(({ set }) => set === name)
      .map((golden) => ({
        pipeline: pipeline.name,
        schedule: createGoldenSchedule(golden, pipeline),
        checks: goldenChecks(pipeline).regressions,
      })),
  );
}
