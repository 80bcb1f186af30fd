/** Composes what the pages for people need beyond the API. */

import { readComplaints } from '../../density/complaints-reads.ts';
import type { VectorisedComplaints } from '../../density/compute.ts';
import { wordsOfDocuments } from '../../explain/document-words.ts';
import { type ExplainedRun, explainAll, filtersOf, missesOfRun } from '../../explain/misses.ts';
import { createLabelFixes } from '../../golden/sets/label-fixes.ts';
import { findPipeline } from '../../golden/watched-pipeline.ts';
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
  | 'explainRun'
  | 'wordsOfDocuments'
  | 'readComplaints'
  | 'storeOf'
  | 'findLabelFixes'
  | 'acceptLabelFixes'
>;

/** A page is waited for no longer. */
const EXPLAIN_LIMIT_MS = 60_000;
const WORDS_LIMIT_MS = 2000;

export function createConsoleApi(dependencies: Dependencies): ConsoleApi {
  const { config, logger, baselines, checkStore, incidents, annotations, reads } = dependencies;
  const pipelineOf = (name: string) => dependencies.pipelines.find((one) => one.name === name);
  const storeOf = (pipeline: string) => pipelineOf(pipeline)?.store ?? null;
  const explain = async (runId: string, queryId: string | null, limit: number): Promise<ExplainedRun> => {
    const { run, misses, questions } = await missesOfRun(dependencies, runId, { queryId, document: null, limit });
    const pipeline = pipelineOf(run.pipeline);
    if (pipeline === undefined) return { misses, explained: [] };
    const filters = filtersOf(config, run.pipeline);
    const signal = AbortSignal.timeout(EXPLAIN_LIMIT_MS);
    return { misses, explained: await explainAll(dependencies, pipeline, questions, filters, signal) };
  };
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
    storeOf,
    explainMisses: async (runId, queryId) => (await explain(runId, queryId, 1)).explained,
    explainRun: (runId, questions) => explain(runId, null, questions),
    wordsOfDocuments: (pipeline, ids) =>
      wordsOfDocuments(
        dependencies,
        { name: pipeline, store: storeOf(pipeline) },
        ids,
        AbortSignal.timeout(WORDS_LIMIT_MS),
      ),
    readComplaints(name, days, why) {
      const signal = AbortSignal.timeout(EXPLAIN_LIMIT_MS);
      const deps = {
        ...dependencies,
        table: reads.density.complaints,
        cluster: (rated: VectorisedComplaints) => dependencies.compute.density.findComplaints(rated, signal),
      };
      const filters = why ? filtersOf(config, name) : null;
      return readComplaints(deps, findPipeline(dependencies.pipelines, name), { days, filters }, signal);
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
