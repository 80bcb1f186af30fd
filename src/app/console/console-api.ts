/** Composes what the pages for people need beyond the API. */
import { type BaselinesTable } from '../../density/baselines-table.ts';
import { createLabelFixes } from '../../golden/sets/label-fixes.ts';
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
  const { config, logger, baselines, checkStore, diagnoses, annotations, reads } = dependencies;
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
    measurements: reads.measurements,
    runReads: reads.runReads,
    annotations,
    trafficReads: reads.trafficReads,
    referenceScores: rememberingScores(reads.density.baselines),
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
