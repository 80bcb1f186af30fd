/** `recalld doctor`: reaches every service of a config, judges and manifests with them, and says what is wrong. */

import { createCleanupStack } from '../../core/cleanup-stack.ts';
import { RecalldError } from '../../core/errors.ts';
import { duration } from '../../core/format.ts';
import { systemClock } from '../../core/system-clock.ts';
import { DAY_MS } from '../../core/time.ts';
import { judgedQueries } from '../../golden/rules/golden-set.ts';
import { sampleAnswers } from '../../golden/runs/ask-retriever.ts';
import { unwatchedSet, type WatchedPipeline } from '../../golden/watched-pipeline.ts';
import { createManifestSource } from '../../index/truth/manifest.ts';
import type { RoundStatus } from '../../index/truth/rounds-table.ts';
import { readManifestLine } from '../../index/truth/rules/manifest-line.ts';
import { createJudgingPlans, type JudgingPlan } from '../../judging/plan.ts';
import { unreadableText } from '../../live/rules/otel/unreadable-retriever.ts';
import type { CommandSettings, CommandStore } from '../commands/command-store.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';
import { closePipelines, createPipelines } from '../pipelines.ts';
import { orphanedDataDir } from '../serve.ts';
import { examineQueue, type Finding, type Report, withDatabase } from './foundations.ts';
import { examinePipeline, type Probe } from './pipeline.ts';

const plainProbe: Probe = { text: 'How do I reset my password?', tags: {}, isMadeUp: true };

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
      if (store !== null) await examineSpans(config, store, systemClock.now(), report);
      const statuses = store === null ? null : await store.db.index.rounds.statuses();
      await examineManifests(config, statuses, systemClock.now(), report, signal);
      await examineJudges(config, pipelines, report, signal);
    });
  } finally {
    await cleanups.run();
  }
}

/** Whether the retriever returns what the sets of its pipeline know. */
async function examineGoldenSets(
  pipeline: WatchedPipeline,
  { db }: CommandStore,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (const { set } of pipeline.golden) {
    const version = await db.golden.sets.latest(set);
    if (version === null) continue;
    const answers = await sampleAnswers(
      pipeline,
      set,
      judgedQueries(await db.golden.sets.queries(set, version.version)),
      signal,
    );
    // That it does not answer was said above.
    if (answers.kind === 'failed') return;
    const service = `${pipeline.name} golden set`;
    const { ids, depth } = answers.warnings;
    const { asked, empty } = answers;
    if (empty > 0) {
      const status = empty === asked ? 'wrong' : 'warning';
      const message = `${empty} of ${asked} queries of ${set} ${empty === 1 ? 'gets' : 'get'} no document; see that the index is filled, that retriever.results.list names the list of an answer, and that tags and filters let documents through.`;
      report({ service, status, ms: null, message });
    }
    if (ids !== null) report({ service, status: 'wrong', ms: null, message: ids });
    if (depth !== null) report({ service, status: 'warning', ms: null, message: depth });
    if (ids !== null || depth !== null || empty > 0) continue;
    const message = `The retriever returns documents that ${set} knows, and as many as it is asked for.`;
    report({ service, status: 'ok', ms: null, message });
  }
}

/** Retriever spans of the last day that gave no live query. */
async function examineSpans(
  { pipelines }: Pick<Config, 'pipelines'>,
  { db }: CommandStore,
  now: Date,
  report: Report,
): Promise<void> {
  const names = new Set(pipelines.map(({ name }) => name));
  for (const kind of await db.live.traffic.unreadableSince(new Date(now.getTime() - DAY_MS))) {
    if (!names.has(kind.pipeline)) continue;
    const ago = duration(Math.max(0, now.getTime() - kind.lastSeenAt.getTime()) / 1000);
    const message = unreadableText(kind, `, the last ${ago} ago`);
    report({ service: `${kind.pipeline} spans`, status: 'warning', ms: null, message });
  }
}

/** A set that was imported and that no pipeline names is run by nobody. */
async function examineUnwatchedSets(
  pipelines: readonly WatchedPipeline[],
  { db }: CommandStore,
  report: Report,
): Promise<void> {
  const named = new Set(pipelines.flatMap(({ golden }) => golden.map(({ set }) => set)));
  // The list holds every version.
  const imported = new Set((await db.golden.sets.list()).map(({ name }) => name));
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
    const set = await store.db.golden.sets.latest(name);
    if (set === null) {
      const message = `The golden set "${name}" was never imported; \`recalld golden import PATH --set ${name}\` does it.`;
      report({ service: `${pipeline} golden set`, status: 'wrong', ms: null, message });
      continue;
    }
    const [first] = await store.db.golden.sets.queries(name, set.version);
    if (first !== undefined) probe ??= { text: first.text, tags: first.tags, isMadeUp: false };
  }
  return probe ?? plainProbe;
}

/** A pair that no pipeline knows, so that the call tells nothing of anybody. */
const pair = {
  query: 'How do I reset my password?',
  document: 'To reset your password, open the settings, choose Security, and follow the link that is sent to you.',
};
/** The pair answers the question. */
const MIN_GRADE = 2;

async function examineJudges(
  config: Config,
  pipelines: readonly WatchedPipeline[],
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (const plan of createJudgingPlans(config, pipelines)) {
    const judged = config.pipelines.find(({ name }) => name === plan.pipeline)?.judged;
    if (judged === undefined || plan.judge === null) continue;
    try {
      report({ service: `${plan.pipeline} judge`, ...(await findingOf(plan, whereTo(judged.judge, config), signal)) });
    } finally {
      plan.judge.close?.();
    }
  }
}

async function findingOf(
  { judge, queriesPerDay, depth, maxCostPerDay }: JudgingPlan,
  address: string,
  signal: AbortSignal,
): Promise<Omit<Finding, 'service'>> {
  const startedAt = performance.now();
  const answer = await judge?.grade(pair, signal);
  const ms = performance.now() - startedAt;
  if (answer === undefined || answer.kind === 'unreachable')
    return { status: 'unreachable', ms, message: answer?.message ?? 'There is no judge.' };
  const leaves = `The stored texts of up to ${queriesPerDay} live queries a day and of ${depth} documents of each go to ${address}, for at most $${maxCostPerDay} a day.`;
  if (answer.kind === 'failed')
    return { status: 'wrong', ms, message: `It gives no grade (${answer.problem}); name another model. ${leaves}` };
  if (answer.grade < MIN_GRADE) {
    const message = `It grades a plain answer ${answer.grade} of 3; expect little of it, or move the limits of its grades. ${leaves}`;
    return { status: 'warning', ms, message };
  }
  return { status: 'ok', ms, message: `It grades. ${leaves}` };
}

/** Without what could be a secret in it. */
function whereTo(judge: NonNullable<PipelineConfig['judged']>['judge'], { llm }: Config): string {
  const url = judge.kind === 'reranker' ? judge.reranker.url : (llm?.base_url ?? '');
  return URL.canParse(url) ? new URL(url).origin : 'its address';
}

/**
 * Reads the first lines of each and no more, since a manifest may have millions.
 *
 * @param standings what rounds have read of them; null when the database does not answer
 */
export async function examineManifests(
  { pipelines }: Pick<Config, 'pipelines'>,
  statuses: readonly RoundStatus[] | null,
  now: Date,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  for (const [place, { name, index }] of pipelines.entries()) {
    if (index === undefined) continue;
    const startedAt = performance.now();
    const finding = await firstLines(
      createManifestSource(index.manifest, `pipelines[${place}].index.manifest`),
      signal,
    );
    const ms = performance.now() - startedAt;
    const last = statuses === null ? '' : ` ${lastRead(statuses.find((one) => one.pipeline === name) ?? null, now)}`;
    report({ service: `${name} manifest`, ms, ...finding, message: `${finding.message}${last}` });
  }
}

function lastRead(status: RoundStatus | null, now: Date): string {
  if (status === null || status.readAt === null) return 'No round has read all of it yet.';
  const ago = duration((now.getTime() - status.readAt.getTime()) / 1000);
  return `A round last read all of it ${ago} ago: ${status.documents ?? 0} documents that should be in the store.`;
}

async function firstLines(
  manifest: ReturnType<typeof createManifestSource>,
  signal: AbortSignal,
): Promise<Pick<Finding, 'status' | 'message'>> {
  try {
    for await (const { lines } of manifest(null, signal)) {
      const documents = lines.filter(({ text }) => text.trim() !== '').map(readManifestLine);
      if (documents.length === 0) continue;
      const told = (['updatedAt', 'hash', 'segment'] as const).filter((key) => documents[0]?.[key] !== null);
      const more = told.length === 0 ? 'only ids' : told.map((key) => says[key]).join(', ');
      return { status: 'ok', message: `Its first ${documents.length} documents can be read; the first says ${more}.` };
    }
    return { status: 'wrong', message: 'It names no document; look why it is empty.' };
  } catch (error) {
    if (signal.aborted || !(error instanceof RecalldError)) throw error;
    return { status: error.kind === 'unreachable' ? 'unreachable' : 'wrong', message: error.message };
  }
}

const says = { updatedAt: 'updated_at', hash: 'its hash', segment: 'its segment' } as const;
