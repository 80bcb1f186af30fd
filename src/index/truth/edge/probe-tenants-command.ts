/**
 * `recalld golden probe-tenants`: the segments of a manifest -> golden questions of one that must not bring documents
 * of another.
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
import { questionOf, segmentTags, sharedBeginning, tenantProbe } from '../rules/findings.ts';
import { drawnPlace, FIRST_PLACE } from '../rules/probe-estimates.ts';

export interface ProbeTenantsDeps {
  readonly indexDocuments: Pick<DocumentsTable, 'segments' | 'drawOf' | 'idsOf' | 'isOwnBeginning'>;
  readonly sets: Pick<GoldenSets, 'latest' | 'queries' | 'add'>;
  readonly store: VectorStore;
}

export interface ProbeTenantsOptions {
  readonly pipeline: string;
  readonly set: string;
  /** Asked as. */
  readonly segment: string;
  /** Whose documents must not come back; left out, all other segments of the same key. */
  readonly forbid?: readonly string[];
  /** Of each of these segments. */
  readonly questions: number;
}

/** Questions in the words of one segment. */
export interface ProbedSegment {
  readonly segment: string;
  readonly questions: number;
  /** What is forbidden, as a question says it; `null`: that many of its ids, since they share no beginning. */
  readonly beginning: string | null;
  readonly ids: number;
}

export interface TenantProbes {
  readonly set: GoldenSetVersion;
  /** False when the latest version has these questions. */
  readonly created: boolean;
  readonly probed: readonly ProbedSegment[];
}

/**
 * Adds the questions to a set of their own; one that is there already is replaced. A question is the start of the text of
 * a document of the other segment, drawn at random, so that a filter that fails brings just that document.
 *
 * @throws RecalldError config_invalid for segments that the manifest does not have, or that are no tag;
 * store_unreachable; golden_set_empty when no document has a text; golden_origin_differs for a set of people
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
    const { queries, ...told } = await probesOf(deps, options, segment, signal);
    probes.push(...queries);
    probed.push({ ...told, questions: queries.length });
  }
  if (probes.length === 0) {
    const message = `The store has no text of any document that was drawn of ${others.join(', ')}; set vector_store.content, or choose other segments.`;
    throw new RecalldError('golden_set_empty', message);
  }
  const { latest, before } = await questionsThere(deps, options.set);
  const fresh = new Map(probes.map((query) => [query.id, query]));
  const queries = [...before.filter(({ id }) => !fresh.has(id)), ...probes];
  const added = await deps.sets.add(
    {
      name: options.set,
      contentHash: sha256(JSON.stringify(['tenant probes', queries])),
      format: 'generated',
      origin: 'generated',
      note: `${probes.length} questions asked as ${options.segment} joined ${latest === null ? 'a new set' : `version ${latest.version}`}.`,
      queries,
    },
    now,
  );
  return { ...added, probed };
}

async function questionsThere({ sets }: ProbeTenantsDeps, name: string) {
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
      `No document of the manifest of "${pipeline}" has a segment; give each one, such as "tenant=a", and run \`recalld index check --pipeline ${pipeline}\` to read it.`,
    );
  }
  const [key] = Object.keys(segmentTags(segment));
  if (key === undefined) {
    throw refusal(
      `The segment "${segment}" is not written key=value, so that nobody could ask as it; write segments like tenant=a into the manifest.`,
    );
  }
  for (const named of [segment, ...(forbid ?? [])]) {
    if (known.includes(named)) continue;
    const some = known.slice(0, SEGMENTS_NAMED).join(', ');
    throw refusal(`The manifest of "${pipeline}" has no segment "${named}"; it has ${some}.`);
  }
  const isOther = (one: string): boolean => one !== segment && one.startsWith(`${key}=`);
  const others = forbid ?? known.filter(isOther);
  if (others.includes(segment))
    throw refusal(`The segment "${segment}" cannot be forbidden to itself; name another with --forbid.`);
  if (others.length === 0)
    throw refusal(`The manifest of "${pipeline}" has no other segment of "${key}" than "${segment}".`);
  return others;
}

function refusal(problem: string): RecalldError {
  return new RecalldError('config_invalid', problem);
}

/** In a sentence. */
const SEGMENTS_NAMED = 10;
/** Some have no text, or have left the store. */
const DRAWN_FOR_EACH = 3;
/** Documents whose chunks are asked for together. */
const DOCUMENTS_PER_CALL = 20;

async function probesOf(
  { indexDocuments, store }: ProbeTenantsDeps,
  { pipeline, segment: asked, questions }: ProbeTenantsOptions,
  segment: string,
  signal: AbortSignal,
) {
  const range = await indexDocuments.idsOf(pipeline, segment, goldenLimits.forbidden - 1);
  const shared = sharedBeginning(range.first, range.last);
  const isOwn = shared !== null && (await indexDocuments.isOwnBeginning(pipeline, segment, shared));
  const beginning = isOwn ? shared : null;
  const drawn = await drawDocuments(indexDocuments, pipeline, segment, questions * DRAWN_FOR_EACH);
  const queries: GoldenQuery[] = [];
  for (let start = 0; start < drawn.length && queries.length < questions; start += DOCUMENTS_PER_CALL) {
    const ids = drawn.slice(start, start + DOCUMENTS_PER_CALL).map(({ id }) => id);
    const chunks = await store.chunks(ids, signal);
    if (chunks.kind === 'failed') throw new RecalldError('store_unreachable', chunks.message);
    if (chunks.kind === 'unsupported') throw new RecalldError('config_invalid', chunks.reason);
    for (const id of ids) {
      const text = questionOf(chunks.value.filter((chunk) => chunk.id === id).map(({ content }) => content));
      if (text === null || queries.length === questions) continue;
      const forbidden = beginning === null ? [...new Set([id, ...range.some])] : [`${beginning}*`];
      queries.push(tenantProbe(`probe-${sha256(`${asked}\0${id}`).slice(0, 16)}`, text, asked, forbidden));
    }
  }
  return { segment, queries, beginning, ids: beginning === null ? Math.min(range.some.length + 1, range.count) : 0 };
}

/** Each of those that should be in the store as likely as any other. */
async function drawDocuments(
  table: ProbeTenantsDeps['indexDocuments'],
  pipeline: string,
  segment: string,
  n: number,
): Promise<readonly ExpectedDocument[]> {
  const start = { place: drawnPlace(Math.random()), id: '' };
  const documents = await table.drawOf(pipeline, segment, start, n);
  if (documents.length === n) return documents;
  const more = await table.drawOf(pipeline, segment, FIRST_PLACE, n - documents.length);
  return [...new Map([...documents, ...more].map((document) => [document.id, document])).values()];
}

export function probeTenantsCommand(signal: AbortSignal): Command {
  return configuredCommand(
    'probe-tenants',
    "Make questions that are asked as one segment of the manifest in the words of another's documents, which must not come back.",
    'recalld golden probe-tenants --pipeline support-docs --set tenant-probes --segment tenant=a --forbid tenant=b',
  )
    .requiredOption('--pipeline <name>', 'pipeline whose config has `index`')
    .requiredOption('--set <name>', 'golden set of probes, new or not', parseSetName)
    .requiredOption('--segment <key=value>', 'segment of the manifest that the questions are asked as')
    .option('--forbid <key=value...>', 'segments whose documents must not come back; left out, all others of the key')
    .option('--questions <n>', 'questions for each of these segments', parseCount, 10)
    .action((options: ConfiguredOptions & ProbeTenantsOptions) => probe(options, signal));
}

async function probe(options: ConfiguredOptions & ProbeTenantsOptions, signal: AbortSignal): Promise<void> {
  const settings = commandSettings(options.config, signal);
  assertConfiguredPipeline(settings.config, options.pipeline);
  const { set, created, probed } = await withCommandStore(settings, ({ db }) =>
    withPipeline(settings, options.pipeline, ({ store }) => {
      if (store === null) {
        const message = `The pipeline "${options.pipeline}" has no vector_store to take texts of documents from; add one.`;
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

function probedLine({ segment, questions, beginning, ids }: ProbedSegment, asked: string): string {
  const forbidden = beginning === null ? `${ids} of its ids` : `all that begins with ${JSON.stringify(beginning)}`;
  return `${questions} questions asked as ${asked} in the words of ${segment}; forbidden is ${forbidden}.`;
}
