/** `recalld doctor`: reaches every service of a config and says what is wrong. */
import { createCleanupStack } from '../../cleanup-stack.ts';
import type { CommandSettings, CommandStore } from '../commands/command-store.ts';
import { closePipelines, createPipelines } from '../pipelines.ts';
import { leftBehind } from '../serve.ts';
import { examineQueue, type Report, withDatabase } from './foundations.ts';
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
    const unused = leftBehind(config);
    if (unused !== null) report({ service: 'data folder', status: 'warning', ms: null, message: unused });
    await withDatabase(settings, report, async (store) => {
      if (pipelines.length === 0) {
        const message = 'The config has no pipelines; add one under `pipelines`.';
        report({ service: 'pipelines', status: 'warning', ms: null, message });
      }
      for (const pipeline of pipelines) {
        const { name, golden } = pipeline;
        const probe = await findProbe(
          name,
          golden.map(({ set }) => set),
          store,
          report,
        );
        await examinePipeline(pipeline, probe, report, signal);
      }
    });
  } finally {
    await cleanups.run();
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
