/** Composes what the pages for people need beyond the API. */
import { createAnnotations } from '../../adapters/postgres/annotations.ts';
import { createDensityBaselines } from '../../adapters/postgres/density/density-baselines.ts';
import { createRunReads } from '../../adapters/postgres/golden/run-reads.ts';
import { createTrafficReads } from '../../adapters/postgres/live/traffic-reads.ts';
import { createMeasurements } from '../../adapters/postgres/measurements.ts';
import type { ConsoleDeps, ConsolePipeline } from '../../http/console/deps.ts';
import type { DensityBaselines } from '../../ports/density-baselines.ts';
import { createLabelFixes } from '../commands/label-fixes.ts';
import type { Dependencies } from '../dependencies.ts';
import { version } from '../version.ts';

type ConsoleApi = Pick<
  ConsoleDeps,
  | 'logger'
  | 'site'
  | 'baselines'
  | 'history'
  | 'diagnoses'
  | 'measurements'
  | 'runReads'
  | 'annotations'
  | 'trafficReads'
  | 'referenceScores'
  | 'findLabelFixes'
  | 'acceptLabelFixes'
>;

export function createConsoleApi(dependencies: Dependencies): ConsoleApi {
  const { config, logger, hashKey, baselines, history, diagnoses, storage } = dependencies;
  return {
    logger,
    site: {
      version,
      pipelines: consolePipelines(dependencies),
      signingKey: hashKey,
      publicUrl: config.alerts.console_base_url,
    },
    baselines,
    history,
    diagnoses,
    measurements: createMeasurements(storage.readPool),
    runReads: createRunReads(storage.readPool),
    annotations: createAnnotations(storage.pool),
    trafficReads: createTrafficReads(storage.readPool),
    referenceScores: rememberingScores(createDensityBaselines(storage.readPool)),
    ...createLabelFixes(dependencies),
  };
}

function consolePipelines({ config, pipelines }: Dependencies): ConsolePipeline[] {
  return pipelines.map(({ name, golden, checks }) => ({
    name,
    showsText: config.pipelines.find((one) => one.name === name)?.privacy.text !== 'hash',
    golden,
    floors: checks.floors,
  }));
}

/** A version of a baseline never changes, and reading one moves megabytes: the last of each pipeline is remembered. */
function rememberingScores(baselines: Pick<DensityBaselines, 'find'>): ConsoleDeps['referenceScores'] {
  const known = new Map<string, { readonly version: number; readonly scores: Float64Array }>();
  return async (pipeline, version) => {
    const last = known.get(pipeline);
    if (last?.version === version) return last.scores;
    const scores = (await baselines.find(pipeline, version))?.baseline.scores.all ?? null;
    if (scores !== null) known.set(pipeline, { version, scores });
    return scores;
  };
}
