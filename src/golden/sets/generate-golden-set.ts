import { z } from 'zod';
import type { ChatModel } from '../../connectors/models/chat-model.ts';
import type { VectorStore } from '../../connectors/stores/vector-store.ts';
import { RecalldError } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { createStateFile, writeText } from '../../platform/files/text-file.ts';
import {
  costOf,
  estimateTokens,
  estimateTotal,
  promptIdentity,
  stratifiedOrder,
  type TokenPrices,
} from '../rules/generation.ts';
import { type GoldenSetVersion, originMismatch } from '../rules/golden-set.ts';
import { wordsOf } from '../rules/similar-texts.ts';
import type { RunProgress } from '../runs/run-golden-set.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';
import {
  type Chunk,
  type FinishedChunk,
  finishedChunkSchema,
  generateQueries,
  requestFor,
} from './generate-queries.ts';
import { sha256 } from './import-golden-set.ts';
import { reviewLine } from './review-file.ts';

/** Schema of the first line in the state file of `golden generate`. */
const headSchema = z.object({
  pipeline: z.string(),
  set: z.string(),
  model: z.string(),
  prompt_hash: z.string(),
  seed: z.int(),
  per_chunk: z.int(),
});

type GenerationHead = z.infer<typeof headSchema>;

/** Parses a state file; returns null if its first line is not a valid header. Skips other unreadable lines. */
function parseGenerationState(values: readonly unknown[]) {
  const head = headSchema.safeParse(values[0]);
  if (!head.success) return null;
  const finished = values.slice(1).flatMap((value) => {
    const line = finishedChunkSchema.safeParse(value);
    return line.success ? [line.data] : [];
  });
  return { head: head.data, finished };
}

/**
 * Opens the state file, to start or resume a generation.
 *
 * @throws RecalldError usage if the file exists and `resume` is false, if it belongs to another generation, or if there
 *   is nothing to resume
 */
async function openGenerationState(path: string, head: GenerationHead, resume: boolean) {
  const file = createStateFile(path);
  const values = await file.read();
  if (!resume) {
    if (values !== null) {
      throw new RecalldError(
        'usage',
        `${path} contains the state of an interrupted generation. Add --resume to continue this generation, or remove the file.`,
      );
    }
    await file.start([head]);
    return { file, finished: [] };
  }
  const state = values === null ? null : parseGenerationState(values);
  if (state === null) {
    throw new RecalldError('usage', `${path} contains no state to resume. Run without --resume to start.`);
  }
  const other = (Object.keys(head) as (keyof GenerationHead)[]).find((key) => state.head[key] !== head[key]);
  if (other !== undefined) {
    throw new RecalldError(
      'usage',
      `${path} belongs to another generation (its ${other.replace('_', ' ')} differs). Remove the file to start over.`,
    );
  }
  const { finished } = state;
  // Rewrites the file, because its last line may be truncated, which would make the next appended line unreadable.
  await file.start([head, ...finished.map(toLine)]);
  return { file, finished };
}

function toLine({ chunkId, ...rest }: FinishedChunk) {
  return { chunk_id: chunkId, ...rest };
}

export interface GenerateOptions {
  readonly pipeline: string;
  readonly set: string;
  readonly queries: number;
  readonly perChunk: number;
  readonly maxCost?: number;
  readonly out?: string;
  readonly resume: boolean;
  readonly seed: number;
  readonly force: boolean;
}

export type CostEstimate = ReturnType<typeof estimate>;

export type GenerationReport = Awaited<ReturnType<typeof generateGoldenSet>>;

/**
 * Maximum number of prompts per requested query. One prompt per query is not enough, because many prompts yield no
 * usable query.
 */
const PROMPTS_PER_QUERY = 4;
const MIN_CHUNKS = 400;
const MAX_CHUNKS = 20_000;
/** Minimum number of words in a chunk; shorter chunks are headings and menus. */
const MIN_WORDS = 12;

/**
 * Generates queries about stored chunks, and adds them to a golden set or writes them to a review file.
 *
 * @throws RecalldError golden_origin_differs, generation_impossible, usage, file_unwritable
 */
export async function generateGoldenSet(
  sets: GoldenSets,
  pipeline: WatchedPipeline,
  { model, prices }: { readonly model: ChatModel; readonly prices: TokenPrices | null },
  options: GenerateOptions,
  watcher: {
    onEstimate(estimate: CostEstimate): void;
    readonly onProgress: (progress: RunProgress) => void;
  },
  signal: AbortSignal,
) {
  const latest = await sets.latest(options.set);
  if (latest !== null && latest.origin !== 'generated') throw originMismatch(options.set, latest.origin);
  const chunks = await drawChunks(pipeline.store, options, signal);
  const before = latest === null ? [] : await sets.queries(latest.name, latest.version);
  watcher.onEstimate(estimate(chunks, options, prices));
  const promptHash = sha256(promptIdentity());
  const { file, finished } = await openGenerationState(
    `${options.out ?? `${options.set}.generated`}.state.jsonl`,
    {
      pipeline: pipeline.name,
      set: options.set,
      model: model.model,
      prompt_hash: promptHash,
      seed: options.seed,
      per_chunk: options.perChunk,
    },
    options.resume,
  );
  const generation = await generateQueries(
    { model, record: (chunk) => file.add(toLine(chunk)), onProgress: watcher.onProgress },
    pipeline,
    {
      ...options,
      chunks,
      finished,
      known: before.map(({ text }) => text),
      maxCost: options.maxCost ?? null,
      prices,
    },
    signal,
  );
  const kept = generation.finished.filter(({ outcome }) => outcome === 'kept');
  const provenance = {
    model: model.model,
    prompt_hash: promptHash,
    generated_at: new Date().toISOString(),
  };
  const items = kept.map((chunk) => toItem(chunk, pipeline.name, provenance));
  const isDone = generation.end.kind === 'complete' || generation.end.kind === 'no_more_chunks';
  // If the cost cap is reached, returns the queries that were paid for, and keeps the state file, so that the user can
  // resume later.
  const hasResult = (isDone || generation.end.kind === 'cost_cap') && items.length > 0;
  const set =
    hasResult && options.out === undefined ? await addToSet(sets, options.set, before, items, model.model) : null;
  if (hasResult && options.out !== undefined) {
    const contents = new Map(chunks.map(({ id, content }) => [id, content]));
    const lines = items.map((item) => `${toReviewLine(item, contents)}\n`);
    await writeText(options.out, lines.join(''), options.force || options.resume);
  }
  if (isDone) await file.remove();
  return {
    end: generation.end,
    kept: kept.length,
    outcomes: countOutcomes(generation.finished),
    tokens: generation.tokens,
    cost: prices === null ? null : costOf(generation.tokens, prices),
    set,
    out: hasResult ? (options.out ?? null) : null,
    /** Path of the state file for --resume; null if the generation is complete. */
    state: isDone ? null : file.path,
  };
}

async function drawChunks(
  store: VectorStore | null,
  { queries, perChunk, seed, pipeline }: GenerateOptions,
  signal: AbortSignal,
): Promise<Chunk[]> {
  const impossible = (problem: string): RecalldError =>
    new RecalldError('generation_impossible', `Cannot generate queries for "${pipeline}": ${problem}`);
  if (store === null) throw impossible('the config has no vector_store to sample chunks from; add one.');
  const n = Math.min(MAX_CHUNKS, Math.max(MIN_CHUNKS, Math.ceil((PROMPTS_PER_QUERY * queries) / perChunk)));
  const sample = await store.sample({ n, seed, withContent: true }, signal);
  if (sample.kind === 'unsupported') throw impossible(sample.reason);
  if (sample.kind === 'failed') throw new RecalldError('store_unreachable', sample.message);
  const { ids, vectors, contents } = sample.value;
  if (ids.length === 0) throw impossible('its store is empty.');
  if (contents.every((content) => content === null)) {
    throw impossible('its store returns no texts; set vector_store.content to the name of the text field.');
  }
  return stratifiedOrder(vectors, seed).flatMap((row) => {
    const [id, content] = [ids[row], contents[row]];
    if (id === undefined || content === null || content === undefined) return [];
    return wordsOf(content).length < MIN_WORDS ? [] : [{ id, content }];
  });
}

function estimate(chunks: readonly Chunk[], { queries, seed }: GenerateOptions, prices: TokenPrices | null) {
  const inputs = chunks.slice(0, 200).map(({ content }, place) => {
    const { messages } = requestFor(content, place, seed);
    return estimateTokens(messages.map((message) => message.content));
  });
  const tokens = estimateTotal(queries, inputs);
  return {
    tokens,
    /** Cost in US dollars; null if no prices are configured. */
    cost: prices === null ? null : costOf(tokens, prices),
  };
}

type Item = ReturnType<typeof toItem>;

function toItem({ chunkId, query }: FinishedChunk, pipeline: string, provenance: Readonly<Record<string, string>>) {
  const text = query ?? '';
  const origin = {
    kind: 'generated' as const,
    pipeline,
    liveQueryHash: null,
    userHash: null,
    askedAt: null,
    details: { ...provenance, chunk_id: chunkId },
  };
  const judgments = [{ documentId: chunkId, grade: 1 }];
  return { id: `gen-${sha256(`${chunkId}\0${text}`).slice(0, 16)}`, text, judgments, origin };
}

async function addToSet(
  sets: GoldenSets,
  name: string,
  before: readonly GoldenQuery[],
  items: readonly Item[],
  model: string,
): Promise<GoldenSetVersion> {
  const fresh = items.filter(({ id }) => !before.some((query) => query.id === id));
  const queries = [...before, ...fresh.map(({ id, text, judgments }) => ({ id, text, tags: {}, judgments }))];
  const added = await sets.add(
    {
      name,
      contentHash: sha256(JSON.stringify(['generated', queries])),
      format: 'generated',
      origin: 'generated',
      note: `${plural(fresh.length, 'query', 'queries')} generated by ${model}.`,
      queries,
      origins: fresh.map(({ id, origin }) => ({ queryId: id, ...origin })),
    },
    new Date(),
  );
  return added.set;
}

function toReviewLine({ id, text, judgments, origin }: Item, contents: ReadonlyMap<string, string>): string {
  return reviewLine({ keep: true, id, text, tags: {}, judgments, noAnswer: false, origin }, {}, (documentId) => ({
    document_text: contents.get(documentId)?.slice(0, 600) ?? null,
  }));
}

function countOutcomes(finished: readonly FinishedChunk[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of finished) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
