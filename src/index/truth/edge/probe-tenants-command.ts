/**
 * Command `recalld golden probe-tenants`: adds golden queries that are sent as one segment of the manifest and must not
 * return documents of another segment.
 */

import type { Command } from 'commander';
import { commandSettings, withCommandStore, withPipeline } from '../../../app/commands/command-store.ts';
import { assertConfiguredPipeline } from '../../../app/pipelines.ts';
import { type ConfiguredOptions, configuredCommand, parseCount, printJson, printLine } from '../../../cli/output.ts';
import type { VectorStore } from '../../../connectors/stores/vector-store.ts';
import { RecalldError } from '../../../core/errors.ts';
import type { GoldenQuery } from '../../../core/model.ts';
import { systemClock } from '../../../core/system-clock.ts';
import { parseSetName } from '../../../golden/edge/commands/sets.ts';
import { goldenSetVersionJson } from '../../../golden/golden-set-schema.ts';
import { type GoldenSetVersion, goldenLimits } from '../../../golden/rules/golden-set.ts';
import { sha256 } from '../../../golden/sets/import-golden-set.ts';
import type { GoldenSets } from '../../../golden/sql/golden-sets.ts';
import type { DocumentsTable, ExpectedDocument } from '../documents-table.ts';
import { queryTextOf, segmentTags, sharedPrefix, tenantProbe } from '../rules/findings.ts';
import { FIRST_PLACE, randomPlace } from '../rules/probe-estimates.ts';

export interface ProbeTenantsDeps {
  readonly indexDocuments: Pick<DocumentsTable, 'segments' | 'afterInSegment' | 'idsOf' | 'isUniquePrefix'>;
  readonly sets: Pick<GoldenSets, 'latest' | 'queries' | 'add'>;
  readonly store: VectorStore;
}

export interface ProbeTenantsOptions {
  readonly pipeline: string;
  readonly set: string;
  /** Segment as which the queries are sent. */
  readonly segment: string;
  /** Segments whose documents must not be returned; default: all other segments with the same key. */
  readonly forbid?: readonly string[];
  /** Number of queries per forbidden segment. */
  readonly questions: number;
}

/** Queries built from the texts of one segment. */
export interface ProbedSegment {
  readonly segment: string;
  readonly queries: number;
  /** Forbidden id prefix; null if the segment's ids have no unique prefix; `ids` then lists some ids. */
  readonly prefix: string | null;
  readonly ids: number;
}

export interface TenantProbes {
  readonly set: GoldenSetVersion;
  /** True if a version was created; false if the latest version has the same queries. */
  readonly created: boolean;
  readonly probed: readonly ProbedSegment[];
}

/**
 * Adds the queries to a golden set and replaces earlier queries with the same id. A query is the beginning of the text
 * of a random document in the other segment, so a broken filter returns exactly that document.
 *
 * @throws RecalldError config_invalid for segments that are not in the manifest or not `key=value`; store_unreachable;
 * golden_set_empty if no document has a text; golden_origin_differs for a manually created set
 */
export async function probeTenants(
  deps: ProbeTenantsDeps,
  options: ProbeTenantsOptions,
  now: Date,
  signal: AbortSignal,
): Promise<TenantProbes> {
  const others = await segmentsToProbe(deps, options);
  const probed: ProbedSegment[] = [];
  const probes: GoldenQuery[] = [];
  for (const segment of others) {
    const { queries, ...described } = await probesOf(deps, options, segment, signal);
    probes.push(...queries);
    probed.push({ ...described, queries: queries.length });
  }
  if (probes.length === 0) {
    const message = `The store has no text for any sampled document of ${others.join(', ')}. Set vector_store.content, or choose other segments.`;
    throw new RecalldError('golden_set_empty', message);
  }
  const { latest, before } = await existingQueries(deps, options.set);
  const fresh = new Map(probes.map((query) => [query.id, query]));
  const queries = [...before.filter(({ id }) => !fresh.has(id)), ...probes];
  const added = await deps.sets.add(
    {
      name: options.set,
      contentHash: sha256(JSON.stringify(['tenant probes', queries])),
      format: 'generated',
      origin: 'generated',
      note: `Added ${probes.length} queries sent as ${options.segment} to ${latest === null ? 'a new set' : `version ${latest.version}`}.`,
      queries,
    },
    now,
  );
  return { ...added, probed };
}

async function existingQueries({ sets }: ProbeTenantsDeps, name: string) {
  const latest = await sets.latest(name);
  return { latest, before: latest === null ? [] : await sets.queries(name, latest.version) };
}

async function segmentsToProbe(
  { indexDocuments }: ProbeTenantsDeps,
  { pipeline, segment, forbid }: ProbeTenantsOptions,
): Promise<readonly string[]> {
  const known = await indexDocuments.segments(pipeline);
  if (known.length === 0) {
    throw refusal(
      `No document in the manifest of "${pipeline}" has a segment. Add a segment such as "tenant=a" to each document, and run \`recalld index check --pipeline ${pipeline}\` to read the manifest.`,
    );
  }
  const [key] = Object.keys(segmentTags(segment));
  if (key === undefined) {
    throw refusal(
      `The segment "${segment}" does not have the form key=value, so queries cannot be sent as this segment. Write segments like tenant=a in the manifest.`,
    );
  }
  for (const named of [segment, ...(forbid ?? [])]) {
    if (known.includes(named)) continue;
    const some = known.slice(0, SEGMENTS_NAMED).join(', ');
    throw refusal(`The manifest of "${pipeline}" has no segment "${named}". Its segments: ${some}.`);
  }
  const isOther = (one: string): boolean => one !== segment && one.startsWith(`${key}=`);
  const others = forbid ?? known.filter(isOther);
  if (others.includes(segment))
    throw refusal(`The segment "${segment}" cannot be forbidden for itself. Use another segment with --forbid.`);
  if (others.length === 0)
    throw refusal(`The manifest of "${pipeline}" has no segment of "${key}" other than "${segment}".`);
  return others;
}

function refusal(problem: string): RecalldError {
  return new RecalldError('config_invalid', problem);
}

/** Maximum number of segments listed in an error message. */
const SEGMENTS_NAMED = 10;
/** Number of documents selected per query, because some have no text or are no longer in the store. */
const DRAWN_FOR_EACH = 3;
/** Number of documents per call for chunks. */
const DOCUMENTS_PER_CALL = 20;

async function probesOf(
  { indexDocuments, store }: ProbeTenantsDeps,
  { pipeline, segment: asked, questions }: ProbeTenantsOptions,
  segment: string,
  signal: AbortSignal,
) {
  const range = await indexDocuments.idsOf(pipeline, segment, goldenLimits.forbidden - 1);
  const shared = sharedPrefix(range.first, range.last);
  const isOwn = shared !== null && (await indexDocuments.isUniquePrefix(pipeline, segment, shared));
  const prefix = isOwn ? shared : null;
  const drawn = await drawDocuments(indexDocuments, pipeline, segment, questions * DRAWN_FOR_EACH);
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
      queries.push(tenantProbe(`probe-${sha256(`${asked}\0${id}`).slice(0, 16)}`, text, asked, forbidden));
    }
  }
  return { segment, queries, prefix, ids: prefix === null ? Math.min(range.some.length + 1, range.count) : 0 };
}

/** Selects documents that should be in the store, uniformly. */
async function drawDocuments(
  table: ProbeTenantsDeps['indexDocuments'],
  pipeline: string,
  segment: string,
  n: number,
): Promise<readonly ExpectedDocument[]> {
  const start = { place: randomPlace(Math.random()), id: '' };
  const documents = await table.afterInSegment(pipeline, segment, start, n);
  if (documents.length === n) return documents;
  const more = await table.afterInSegment(pipeline, segment, FIRST_PLACE, n - documents.length);
  return [...new Map([...documents, ...more].map((document) => [document.id, document])).values()];
}

export function probeTenantsCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'probe-tenants',
    "Create golden queries that are sent as one segment of the manifest and use texts of another segment's documents, which must not be returned.",
    'recalld golden probe-tenants --pipeline support-docs --set tenant-probes --segment tenant=a --forbid tenant=b',
  )
    .requiredOption('--pipeline <name>', 'pipeline with a configured `index`')
    .requiredOption('--set <name>', 'golden set for the queries; created if it does not exist', parseSetName)
    .requiredOption('--segment <key=value>', 'segment of the manifest as which the queries are sent')
    .option(
      '--forbid <key=value...>',
      'segments whose documents must not be returned (default: all others with the same key)',
    )
    .option('--questions <n>', 'number of queries per forbidden segment', parseCount, 10)
    .action((options: ConfiguredOptions & ProbeTenantsOptions) => probe(options, signal));
}

async function probe(options: ConfiguredOptions & ProbeTenantsOptions, signal: AbortSignal): Promise<void> {
  const settings = commandSettings(options.config, signal);
  assertConfiguredPipeline(settings.config, options.pipeline);
  const { set, created, probed } = await withCommandStore(settings, ({ db }) =>
    withPipeline(settings, options.pipeline, ({ store }) => {
      if (store === null) {
        const message = `The pipeline "${options.pipeline}" has no vector_store to read document texts from. Add one.`;
        throw new RecalldError('config_invalid', message);
      }
      const deps = { indexDocuments: db.index.documents, sets: db.golden.sets, store };
      return probeTenants(deps, options, systemClock.now(), signal);
    }),
  );
  if (options.json === true) return printJson({ ...goldenSetVersionJson(set), created, probed });
  for (const one of probed) printLine(probedLine(one, options.segment));
  printLine(`${set.name} version ${set.version}: ${set.queries} queries.`);
}

function probedLine({ segment, queries, prefix, ids }: ProbedSegment, asked: string): string {
  const forbidden = prefix === null ? `${ids} of its ids` : `ids starting with ${JSON.stringify(prefix)}`;
  return `${queries} queries sent as ${asked} with texts of ${segment}. Forbidden: ${forbidden}.`;
}
