/** Composes what the pages for people need beyond the API. */

import { type BaselinesTable, densityTables } from '../../density/index.ts';
import { createAnnotations } from '../../deployments/annotations.ts';
import { createLabelFixes } from '../../golden/sets/label-fixes.ts';
import { createGoldenDocuments } from '../../golden/sql/golden-documents.ts';
import { createRunReads } from '../../golden/sql/run-results.ts';
import { createTrafficReads } from '../../live/sql/traffic-reads.ts';
import { createMeasurements } from '../../measures/measurements.ts';
import type { Dependencies } from '../dependencies.ts';
import { version } from '../version.ts';
import type { ConsoleDeps, ConsolePipeline } from './deps.ts';

type ConsoleApi = Pick<
  ConsoleDeps,
  | 'logger'
  | 'site'
  | 'baselines'
  | 'checkStore'
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
  const { config, logger, baselines, checkStore, diagnoses, storage } = dependencies;
  return {
    logger,
    site: {
      version,
      pipelines: consolePipelines(dependencies),
      publicUrl: config.alerts.console_base_url,
    },
    baselines,
    checkStore,
    diagnoses,
    measurements: createMeasurements(storage.readPool),
    runReads: createRunReads(storage.readPool),
    annotations: createAnnotations(storage.pool),
    trafficReads: createTrafficReads(storage.readPool),
    referenceScores: rememberingScores(densityTables(storage.readPool).baselines),
    ...createLabelFixes({ ...dependencies, documents: createGoldenDocuments(storage.pool) }),
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
function rememberingScores(baselines: Pick<BaselinesTable, 'find'>): ConsoleDeps['referenceScores'] {
  const known = new Map<string, { readonly version: number; readonly scores: Float64Array }>();
  return async (pipeline, version) => {
    const last = known.get(pipeline);
    if (last?.version === version) return last.scores;
    const scores = (await baselines.find(pipeline, version))?.baseline.scores.all ?? null;
    if (scores !== null) known.set(pipeline, { version, scores });
    return scores;
  };
}
