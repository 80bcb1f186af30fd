/** Composes what the pages for people need beyond the API. */

import { explainAll, filtersOf, missesOfRun } from '../../explain/misses.ts';
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
  | 'incidents'
  | 'measurements'
  | 'runReads'
  | 'annotations'
  | 'trafficReads'
  | 'referenceSimilarities'
  | 'explainMisses'
  | 'findLabelFixes'
  | 'acceptLabelFixes'
>;

/** A page is waited for no longer. */
const EXPLAIN_LIMIT_MS = 60_000;

export function createConsoleApi(dependencies: Dependencies): ConsoleApi {
  const { config, logger, baselines, checkStore, incidents, annotations, reads } = dependencies;
  return {
    logger,
    site: {
      version,
      pipelines: consolePipelines(dependencies),
      publicUrl: config.alerts.console_base_url,
    },
    baselines,
    checkStore,
    incidents,
    measurements: reads.measurements,
    runReads: reads.runReads,
    annotations,
    trafficReads: reads.trafficReads,
    async referenceSimilarities(pipeline, version) {
      const similarities = await reads.density.baselines.similarities(pipeline, version);
      return similarities.length === 0 ? null : similarities;
    },
    async explainMisses(runId, queryId) {
      const { run, questions } = await missesOfRun(dependencies, runId, { queryId, document: null, limit: 1 });
      const pipeline = dependencies.pipelines.find(({ name }) => name === run.pipeline);
      const filters = filtersOf(config, run.pipeline);
      return pipeline === undefined
        ? []
        : explainAll(dependencies, pipeline, questions, filters, AbortSignal.timeout(EXPLAIN_LIMIT_MS));
    },
    ...createLabelFixes(dependencies),
  };
}

function consolePipelines({ config, pipelines }: Dependencies): ConsolePipeline[] {
  return pipelines.map(({ name, golden, checks }) => ({
    name,
    showsText: config.pipelines.find((one) => one.name === name)?.privacy.text !== 'hash',
    isIndexed: config.pipelines.find((one) => one.name === name)?.index !== undefined,
    isJudged: config.pipelines.find((one) => one.name === name)?.judged !== undefined,
    golden,
    floors: checks.floors,
  }));
}
