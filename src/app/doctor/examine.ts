/** `recalld doctor`: checks every service, judge and manifest in a config, and reports problems and their fixes. */
import { createCleanupStack } from '../../core/cleanup-stack.ts';
import { RecalldError } from '../../core/errors.ts';
import { duration, plural } from '../../core/format.ts';
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
import { examineQueue, type Report, type Result, withDatabase } from './foundations.ts';
import { examinePipeline, type Probe } from './pipeline.ts';
import { examineSignIn } from './sign-in.ts';

const plainProbe: Probe = { text: 'How do I reset my password?', tags: {}, isMadeUp: true };

/** @throws RecalldError config_invalid if a service cannot be created */
export async function examine(settings: CommandSettings, report: Report): Promise<void> {
  const { config, signal, logger } = settings;
  const cleanups = createCleanupStack(logger);
  try {
    const pipelines = createPipelines(config, logger);
    cleanups.defer('pipelines', () => closePipelines(pipelines));
    await examineQueue(config, report);
    await examineSignIn(config, report);
    const unused = orphanedDataDir(config);
    if (unused !== null) report('data folder', 'warning', unused);
    await withDatabase(settings, report, async (store) => {
      if (pipelines.length === 0) {
        const message = 'The config has no pipelines; add a pipeline under `pipelines`.';
        report('pipelines', 'warning', message);
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
    // A failed retriever has already been reported.
    if (answers.kind === 'failed') return;
    const service = `${pipeline.name} golden set`;
    const { ids, depth } = answers.warnings;
    const { asked, empty } = answers;
    if (empty > 0) {
      const status = empty === asked ? 'wrong' : 'warning';
      const message = `${empty} of ${plural(asked, 'query', 'queries')} of ${set} ${empty === 1 ? 'returns' : 'return'} no documents; check that the index is not empty, that retriever.results.list is the path of the result list in the response, and that the tags and filters do not exclude all documents.`;
      report(service, status, message);
    }
    if (ids !== null) report(service, 'wrong', ids);
    if (depth !== null) report(service, 'warning', depth);
    if (ids !== null || depth !== null || empty > 0) continue;
    const message = `The retriever returns as many documents as requested, and their ids match the document ids in ${set}.`;
    report(service, 'ok', message);
  }
}

/** Reports spans and gRPC exporters that were seen in the last day but produced no live queries. */
async function examineSpans({ pipelines }: Config, { db }: CommandStore, now: Date, report: Report): Promise<void> {
  const names = new Set(pipelines.map(({ name }) => name));
  const from = new Date(now.getTime() - DAY_MS);
  const kinds = await db.live.traffic.unreadableSince(from);
  for (const kind of kinds) {
    const isGrpc = kind.reason === 'grpc';
    if (!names.has(kind.pipeline) && !isGrpc) continue;
    if (kind.reason === 'tool' || kind.reason === 'model_calls') {
      const arrivals = await db.live.windows.arrivals({ pipeline: kind.pipeline, from, until: now });
      const hasTools = kinds.some(({ pipeline, reason }) => pipeline === kind.pipeline && reason === 'tool');
      if (Object.keys(arrivals).length > 0 || (kind.reason === 'model_calls' && hasTools)) continue;
    }
    const ago = duration(Math.max(0, now.getTime() - kind.lastSeenAt.getTime()) / 1000);
    const message = unreadableText(kind, `, the last ${ago} ago`);
    report(isGrpc ? 'OTLP' : `${kind.pipeline} spans`, 'warning', message);
  }
}

async function examineUnwatchedSets(
  pipelines: readonly WatchedPipeline[],
  { db }: CommandStore,
  report: Report,
): Promise<void> {
  const named = new Set(pipelines.flatMap(({ golden }) => golden.map(({ set }) => set)));
  // The list contains a set once per version, so duplicate names are removed.
  const imported = new Set((await db.golden.sets.list()).map(({ name }) => name));
  for (const name of imported) {
    if (named.has(name)) continue;
    report('golden sets', 'warning', unwatchedSet(name));
  }
}

/** Returns a query from the first imported golden set. Reports sets that were not imported. */
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
      const message = `The golden set "${name}" was never imported; run \`recalld golden import PATH --set ${name}\`.`;
      report(`${pipeline} golden set`, 'wrong', message);
      continue;
    }
    const [first] = await store.db.golden.sets.queries(name, set.version);
    if (first !== undefined) probe ??= { text: first.text, tags: first.tags, isMadeUp: false };
  }
  return probe ?? plainProbe;
}

/** A made-up query and document, so that the call to the judge sends no user data. */
const pair = {
  query: 'How do I reset my password?',
  document: 'To reset your password, open the settings, choose Security, and follow the link that is sent to you.',
};
/** Minimum grade that the judge must return for the pair, whose document answers the query. */
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
      const startedAt = performance.now();
      const { status, message } = await findingOf(plan, whereTo(judged.judge, config), signal);
      report(`${plan.pipeline} judge`, status, message, performance.now() - startedAt);
    } finally {
      plan.judge.close?.();
    }
  }
}

async function findingOf(
  { judge, queriesPerDay, depth, maxCostPerDay }: JudgingPlan,
  address: string,
  signal: AbortSignal,
): Promise<Result> {
  const answer = await judge?.grade(pair, signal);
  if (answer === undefined || answer.kind === 'unreachable')
    return { status: 'unreachable', message: answer?.message ?? 'There is no judge.' };
  const sent = `Judging sends the stored texts of up to ${plural(queriesPerDay, 'live query', 'live queries')} a day and of ${plural(depth, 'document')} per query to ${address}, and costs at most $${maxCostPerDay} a day.`;
  if (answer.kind === 'failed')
    return {
      status: 'wrong',
      message: `The judge returned no grade (${answer.problem}); use another model. ${sent}`,
    };
  if (answer.grade < MIN_GRADE) {
    const message = `The judge gave grade ${answer.grade} of 3 to a document that answers the query; use another model, or change its grade limits. ${sent}`;
    return { status: 'warning', message };
  }
  return { status: 'ok', message: `The judge works. ${sent}` };
}

/** Returns the address without path and query, which could contain a secret. */
function whereTo(judge: NonNullable<PipelineConfig['judged']>['judge'], { llm }: Config): string {
  const url = judge.kind === 'reranker' ? judge.reranker.url : (llm?.base_url ?? '');
  return URL.canParse(url) ? new URL(url).origin : 'its address';
}

/**
 * Reads only the first lines of each manifest, because a manifest may have millions of lines.
 *
 * @param statuses latest round of each pipeline; null if the database does not respond
 */
export async function examineManifests(
  { pipelines }: Config,
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
    report(`${name} manifest`, finding.status, `${finding.message}${last}`, ms);
  }
}

function lastRead(status: RoundStatus | null, now: Date): string {
  if (status === null || status.readAt === null) return 'recalld has not read the whole manifest yet.';
  const ago = duration((now.getTime() - status.readAt.getTime()) / 1000);
  return `recalld last read the whole manifest ${ago} ago; the manifest lists ${plural(status.documents ?? 0, 'document')} that should be in the store.`;
}

async function firstLines(manifest: ReturnType<typeof createManifestSource>, signal: AbortSignal): Promise<Result> {
  try {
    for await (const { lines } of manifest(null, signal)) {
      const documents = lines.filter(({ text }) => text.trim() !== '').map(readManifestLine);
      if (documents.length === 0) continue;
      const known = (['updatedAt', 'hash', 'segment'] as const).filter((key) => documents[0]?.[key] !== null);
      const fields = ['id', ...known.map((key) => fieldNames[key])].join(', ');
      const number = documents.length;
      const sample = number === 1 ? 'the first document' : `the first ${number} documents`;
      return {
        status: 'ok',
        message: `recalld read ${sample} of the manifest. Fields of the first document: ${fields}.`,
      };
    }
    return { status: 'wrong', message: 'The manifest is empty; check its source.' };
  } catch (error) {
    if (signal.aborted || !(error instanceof RecalldError)) throw error;
    return { status: error.kind === 'unreachable' ? 'unreachable' : 'wrong', message: error.message };
  }
}

const fieldNames = { updatedAt: 'updated_at', hash: 'hash', segment: 'segment' } as const;
