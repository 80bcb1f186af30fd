/** `recalld doctor`: reaches every service of a config and says what is wrong. */
import { createCleanupStack } from '../../cleanup-stack.ts';
import { judgedQueries } from '../../golden/rules/golden-set.ts';
import { sampleAnswers } from '../../golden/runs/sample-answers.ts';
import { unwatchedSet, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { systemClock } from '../../system-clock.ts';
import type { CommandSettings, CommandStore } from '../commands/command-store.ts';
import { closePipelines, createPipelines } from '../pipelines.ts';
import { orphanedDataDir } from '../serve.ts';
import { examineQueue, type Report, withDatabase } from './foundations.ts';
import { examineJudges } from './judges.ts';
import { examineManifests } from './manifests.ts';
import { examinePipeline, type Probe } from './pipeline.ts';

const plainProbe: Probe = { text: 'How do I reset my password?', tags: {} };

/** @throws RecalldError config_invalid for what cannot even be built */
export async function examine(settings: CommandSettings, report: Report): Promise<void> {
  const { config, signal, logger } = settings;
  const cleanups = createCleanupStack(logger);
  try {
    const pipelines = createPipelines(config, logger);
    cleanups.defer('pipelines', () => closePipelines(pipelines));
    await examineQueue(config, report);
    const unused = orphanedDataDir(config);
    if (unused !== null) report({ service: 'data folder', status: 'warning', ms: null, message: unused });
    await withDatabase(settings, report, async (store) => {
      if (pipelines.length === 0) {
        const message = 'The config has no pipelines; add one under `pipelines`.';
        report({ service: 'pipelines', status: 'warning', ms: null, message });
      }
      if (store !== null) await examineUnwatchedSets(pipelines, store, report);
      for (const pipeline of pipelines) {
        const { name, golden } = pipeline;
        const probe = await findProbe(
          name,
          golden.map(({ set }) => set),
          store,
          report,
        );
        await examinePipeline(pipeline, probe, report, signal);
        if (store !== null) await examineGoldenSets(pipeline, store, report, signal);
      }
      const standings = store === null ? null : await store.indexRounds.standings();
      await examineManifests(config, standings, systemClock.now(), report, signal);
      await examineJudges(config, pipelines, report, signal);
    });
  } finally {
    await cleanups.run();
  }
}

/** Whether the retriever returns what the sets of its pipeline know. */
async function examineGoldenSets(
  pipeline: WatchedPipeline,
  { sets }: CommandStore,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (const { set } of pipeline.golden) {
    const version = await sets.latest(set);
    if (version === null) continue;
    const answers = await sampleAnswers(pipeline, set, judgedQueries(await sets.queries(set, version.version)), signal);
    // That it does not answer was said above.
    if (answers.kind === 'failed') return;
    const service = `${pipeline.name} golden set`;
    const { ids, depth } = answers.doubts;
    if (ids !== null) report({ service, status: 'wrong', ms: null, message: ids });
    if (depth !== null) report({ service, status: 'warning', ms: null, message: depth });
    if (ids !== null || depth !== null) continue;
    const message = `The retriever returns documents that ${set} knows, and as many as it is asked for.`;
    report({ service, status: 'ok', ms: null, message });
  }
}

/** A set that was imported and that no pipeline names is run by nobody. */
async function examineUnwatchedSets(
  pipelines: readonly WatchedPipeline[],
  { sets }: CommandStore,
  report: Report,
): Promise<void> {
  const named = new Set(pipelines.flatMap(({ golden }) => golden.map(({ set }) => set)));
  // The list holds every version.
  const imported = new Set((await sets.list()).map(({ name }) => name));
  for (const name of imported) {
    if (named.has(name)) continue;
    report({ service: 'golden sets', status: 'warning', ms: null, message: unwatchedSet(name) });
  }
}

/** A query of the first golden set that is there; a set that is not is a finding. */
async function findProbe(
  pipeline: string,
  sets: readonly string[],
  store: CommandStore | null,
  report: Report,
): Promise<Probe> {
  if (store === null) return plainProbe;
  let probe: Probe | null = null;
  for (const name of sets) {
    const set = await store.sets.latest(name);
    if (set === null) {
      const message = `The golden set "${name}" was never imported; \`recalld golden import PATH --set ${name}\` does it.`;
      report({ service: `${pipeline} golden set`, status: 'wrong', ms: null, message });
      continue;
    }
    probe ??= (await store.sets.queries(name, set.version))[0] ?? null;
  }
  return probe ?? plainProbe;
}
