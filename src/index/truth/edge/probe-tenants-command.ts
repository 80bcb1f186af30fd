import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { commandSettings, withCommandStore, withPipeline } from '../../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../../app/pipelines.ts';
import { configuredCommand, parseCount, printJson, printLine } from '../../../cli/output.ts';
import type { VectorStore } from '../../../connectors/stores/vector-store.ts';
import type { Context } from '../../../core/context.ts';
import { RecalldError } from '../../../core/errors.ts';
import { plural } from '../../../core/format.ts';
import type { GoldenQuery } from '../../../core/model.ts';
import { parseSetName } from '../../../golden/edge/commands/sets.ts';
import { goldenSetVersionJson } from '../../../golden/golden-set-schema.ts';
import { goldenLimits } from '../../../golden/rules/golden-set.ts';
import { sha256 } from '../../../golden/sets/import-golden-set.ts';
import { queryTextOf, segmentTags, sharedPrefix } from '../rules/findings.ts';

export interface ProbeTenantsOptions {
  readonly pipeline: string;
  readonly set: string;
  /** Segment on whose behalf the queries are sent. */
  readonly segment: string;
  /** Segments whose documents must not be returned; default: all other segments with the same key. */
  readonly forbid?: readonly string[] | undefined;
  /** Number of queries per forbidden segment. */
  readonly questions: number;
}

/**
 * Adds the queries to a golden set and replaces earlier queries with the same id. Each query is the beginning of the
 * text of a random document from a forbidden segment, because a retriever with a broken filter returns this document.
 *
 * @throws RecalldError config_invalid for segments that the manifest does not contain or that do not have the form
 * `key=value`; store_unreachable; golden_set_empty if no document has a text; golden_origin_differs for a manually
 * created set
 */
export async function probeTenants(
  { db, clock }: Context,
  store: VectorStore,
  options: ProbeTenantsOptions,
  signal: AbortSignal,
) {
  const others = await segmentsToProbe(db, options);
  const probed = [];
  const probes: GoldenQuery[] = [];
  for (const segment of others) {
    const { queries, ...described } = await probesOf(db, store, options, segment, signal);
    probes.push(...queries);
    probed.push({ ...described, queries: queries.length });
  }
  if (probes.length === 0) {
    const message = `The store has no text for any sampled document of ${others.join(', ')}. Set vector_store.content, or choose other segments.`;
    throw new RecalldError('golden_set_empty', message);
  }
  const latest = await db.golden.sets.latest(options.set);
  const before = latest === null ? [] : await db.golden.sets.queries(options.set, latest.version);
  const fresh = new Map(probes.map((query) => [query.id, query]));
  const queries = [...before.filter(({ id }) => !fresh.has(id)), ...probes];
  const added = await db.golden.sets.add(
    {
      name: options.set,
      contentHash: sha256(JSON.stringify(['tenant probes', queries])),
      format: 'generated',
      origin: 'generated',
      note: `Added ${plural(probes.length, 'query', 'queries')} to ${latest === null ? 'a new set' : `version ${latest.version}`}; each query is sent on behalf of ${options.segment}.`,
      queries,
    },
    clock.now(),
  );
  return { ...added, probed };
}

async function segmentsToProbe(
  { index }: Context['db'],
  { pipeline, segment, forbid }: ProbeTenantsOptions,
): Promise<readonly string[]> {
  const known = await index.documents.segments(pipeline);
  if (known.length === 0) {
    throw refusal(
      `No document in the manifest of "${pipeline}" has a segment. Add a segment such as "tenant=a" to each document, and run \`recalld index check --pipeline ${pipeline}\` to read the manifest.`,
    );
  }
  const [key] = Object.keys(segmentTags(segment));
  if (key === undefined) {
    throw refusal(
      `The segment "${segment}" does not have the form key=value, so recalld cannot send queries on its behalf. Write segments like tenant=a in the manifest.`,
    );
  }
  for (const named of [segment, ...(forbid ?? [])]) {
    if (known.includes(named)) continue;
    const some = known.slice(0, SEGMENTS_NAMED).join(', ');
    throw refusal(`The manifest of "${pipeline}" has no segment "${named}". Known segments: ${some}.`);
  }
  const isOther = (one: string): boolean => one !== segment && one.startsWith(`${key}=`);
  const others = forbid ?? known.filter(isOther);
  if (others.includes(segment))
    throw refusal(
      `The queries are sent on behalf of "${segment}", so its documents cannot be forbidden. Use another segment with --forbid.`,
    );
  if (others.length === 0)
    throw refusal(`The manifest of "${pipeline}" has no segment with the key "${key}" other than "${segment}".`);
  return others;
}

function refusal(problem: string): RecalldError {
  return new RecalldError('config_invalid', problem);
}

const SEGMENTS_NAMED = 10;
/**
 * Number of documents selected per query: more than one, because some documents have no text or are no longer in the
 * store.
 */
const DRAWN_FOR_EACH = 3;
const DOCUMENTS_PER_CALL = 20;

async function probesOf(
  { index }: Context['db'],
  store: VectorStore,
  { pipeline, segment: asked, questions }: ProbeTenantsOptions,
  segment: string,
  signal: AbortSignal,
) {
  const range = await index.documents.idsOf(pipeline, segment, goldenLimits.forbidden - 1);
  const shared = sharedPrefix(range.first, range.last);
  const isOwn = shared !== null && (await index.documents.isUniquePrefix(pipeline, segment, shared));
  const prefix = isOwn ? shared : null;
  const drawn = await index.documents.draw(pipeline, { segment }, questions * DRAWN_FOR_EACH);
  const queries: GoldenQuery[] = [];
  for (let start = 0; start < drawn.length && queries.length < questions; start += DOCUMENTS_PER_CALL) {
    const ids = drawn.slice(start, start + DOCUMENTS_PER_CALL).map(({ id }) => id);
    const chunks = await store.chunks(ids, signal);
    if (chunks.kind === 'failed') throw new RecalldError('store_unreachable', chunks.message);
    if (chunks.kind === 'unsupported') throw new RecalldError('config_invalid', chunks.reason);
    for (const id of ids) {
      const text = queryTextOf(chunks.value.filter((chunk) => chunk.id === id).map(({ content }) => content));
      if (text === null || queries.length === questions) continue;
      const forbidden = prefix === null ? [...new Set([id, ...range.some])] : [`${prefix}*`];
      const probeId = `probe-${sha256(`${asked}\0${id}`).slice(0, 16)}`;
      queries.push({ id: probeId, text, tags: segmentTags(asked), judgments: [], forbidden });
    }
  }
  // `prefix`: forbidden id prefix; null if the ids of the segment have no unique prefix. `ids`: number of forbidden ids
  // if `prefix` is null, otherwise 0.
  return { segment, queries, prefix, ids: prefix === null ? Math.min(range.some.length + 1, range.count) : 0 };
}

export function probeTenantsCommand(signal: AbortSignal): CommandUnknownOpts {
  return configuredCommand(
    'probe-tenants',
    'Create golden queries that recalld sends on behalf of one segment of the manifest. Their texts come from documents of other segments, which the retriever must not return.',
    'recalld golden probe-tenants --pipeline support-docs --set tenant-probes --segment tenant=a --forbid tenant=b',
  )
    .requiredOption('--pipeline <name>', 'pipeline with a configured `index`')
    .requiredOption('--set <name>', 'golden set for the queries; created if it does not exist', parseSetName)
    .requiredOption('--segment <key=value>', 'manifest segment on behalf of which the queries are sent')
    .option(
      '--forbid <key=value...>',
      'segments whose documents must not be returned (default: all others with the same key)',
    )
    .option('--questions <n>', 'number of queries per forbidden segment', parseCount, 10)
    .action(async ({ config, json, ...options }) => {
      const settings = commandSettings(config, signal);
      assertConfiguredPipeline(settings.config, options.pipeline);
      const { set, created, probed } = await withCommandStore(settings, (commandStore) =>
        withPipeline(settings, options.pipeline, ({ store }) => {
          if (store === null) {
            const message = `The pipeline "${options.pipeline}" has no vector_store to read document texts from. Add one.`;
            throw new RecalldError('config_invalid', message);
          }
          return probeTenants(commandStore, store, options, signal);
        }),
      );
      if (json === true) return printJson({ ...goldenSetVersionJson(set), created, probed });
      for (const one of probed) printLine(probedLine(one, options.segment));
      printLine(`${set.name} version ${set.version}: ${set.queries} queries.`);
    });
}

type ProbedSegment = Awaited<ReturnType<typeof probeTenants>>['probed'][number];

function probedLine({ segment, queries, prefix, ids }: ProbedSegment, asked: string): string {
  const forbidden = prefix === null ? `${ids} of its ids` : `ids starting with ${JSON.stringify(prefix)}`;
  return `${plural(queries, 'query', 'queries')} with texts of ${segment}, sent on behalf of ${asked}. Forbidden: ${forbidden}.`;
}
