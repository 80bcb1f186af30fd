/** Requests queries about stored chunks from a chat model, and accepts those that a real user could have asked. */
import { z } from 'zod';
import type { ChatAnswer, ChatModel, ChatRequest } from '../../connectors/models/chat-model.ts';
import { cosineSimilarity } from '../../math/vector/matrix.ts';
import {
  costOf,
  estimateTokens,
  MAX_OUTPUT_TOKENS,
  type QueryProblem,
  queryMessages,
  queryProblem,
  queryProblems,
  querySchema,
  queryStyle,
  repairMessages,
  type TokenPrices,
  type Tokens,
} from '../rules/generation.ts';
import { type GeneratedQuery, readGeneratedQuery } from '../rules/read-generated-query.ts';
import { jaccard, wordsOf } from '../rules/similar-texts.ts';
import type { RunProgress } from '../runs/run-golden-set.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';

/** `unfinished`: the retriever failed, so it is unknown whether the query is usable; the next call tries again. */
const chunkOutcomes = [
  'kept',
  'no_query',
  'refused',
  'malformed',
  'not_retrieved',
  'near_duplicate',
  'unfinished',
  ...queryProblems,
] as const;

type ChunkOutcome = (typeof chunkOutcomes)[number];

/** Outcome and token usage of one prompt about a chunk, as stored in the state file of a generation. */
export const finishedChunkSchema = z
  .object({
    chunk_id: z.string(),
    prompt: z.int().describe('Sequence number of the prompt about this chunk, starting at 0.'),
    outcome: z.enum(chunkOutcomes),
    query: z.string().nullable().describe('The text of the query, or null if it was dropped.'),
    tokens: z.object({ input: z.number(), output: z.number() }),
  })
  .transform(({ chunk_id: chunkId, ...rest }) => ({ chunkId, ...rest }));

export type FinishedChunk = Readonly<z.infer<typeof finishedChunkSchema>>;

/**
 * Why a generation ended. `failing`: the model or the retriever failed repeatedly. `never_retrieved`: the retriever
 * never returned the source chunk of a query.
 */
type GenerationEnd =
  | { readonly kind: 'complete' | 'cost_cap' | 'no_more_chunks' | 'never_retrieved' }
  | { readonly kind: 'failing'; readonly message: string };

export interface GenerateRequest {
  readonly queries: number;
  /** Number of prompts per chunk, each in a different style; 1 or more. */
  readonly perChunk: number;
  readonly seed: number;
  /** Chunks, in the order of their prompts. */
  readonly chunks: readonly Chunk[];
  /** Finished prompts from an earlier, interrupted call. */
  readonly finished: readonly FinishedChunk[];
  /** Queries that the set already has. */
  readonly known: readonly string[];
  /** Maximum total cost in US dollars, including earlier calls; null for no limit. */
  readonly maxCost: number | null;
  readonly prices: TokenPrices | null;
}

const AT_ONCE = 4;
/** Number of consecutive failures after which the generation stops. */
const FAILURES = 5;
/**
 * If the retriever has never returned the source chunk of a query, this many queries are enough to conclude that the
 * retriever's ids differ from the ids in the store.
 */
const NEVER_RETRIEVED = 20;

/**
 * Processes the chunks until there are enough queries. The cost cap is never exceeded: the model is called only if the
 * total cost would stay within the cap even in the worst case. In the worst case, a call needs a repair, and both
 * completions have the maximum length. Rejects only with the reason of `signal`; prompts that have already been
 * recorded can be passed to the next call.
 */
export async function generateQueries(
  deps: {
    readonly model: ChatModel;
    /** Called for each prompt that is finished; the next prompts wait until the returned promise is resolved. */
    readonly record: (chunk: FinishedChunk) => Promise<void>;
    readonly onProgress: (progress: RunProgress) => void;
  },
  pipeline: WatchedPipeline,
  request: GenerateRequest,
  signal: AbortSignal,
) {
  const finished = [...request.finished];
  const done = new Set(finished.filter(({ outcome }) => outcome !== 'unfinished').map(keyOf));
  const open = promptsOf(request).filter((one) => !done.has(keyOf({ chunkId: one.chunk.id, prompt: one.prompt })));
  const kept = (): FinishedChunk[] => finished.filter(({ outcome }) => outcome === 'kept');
  const known = [...request.known, ...kept().flatMap(({ query }) => query ?? [])];
  const classify = createQueryFilter(pipeline, known);
  let [failures, lastFailure] = [0, ''];

  for (;;) {
    signal.throwIfAborted();
    deps.onProgress({ answered: kept().length, total: request.queries });
    const ended = (end: GenerationEnd) => ({ finished, tokens: totalOf(finished), end });
    const lacking = request.queries - kept().length;
    if (lacking <= 0) return ended({ kind: 'complete' });
    if (isNeverRetrieved(finished)) return ended({ kind: 'never_retrieved' });
    if (failures >= FAILURES) return ended({ kind: 'failing', message: lastFailure });
    const next = affordable(open.slice(0, Math.min(AT_ONCE, lacking)), finished, request);
    if (open.length === 0) return ended({ kind: 'no_more_chunks' });
    if (next.length === 0) return ended({ kind: 'cost_cap' });
    open.splice(0, next.length);
    const answers = await Promise.all(
      next.map(({ place, chunk }) => askForQuery(deps.model, requestFor(chunk.content, place, request.seed), signal)),
    );
    for (const [index, asked] of answers.entries()) {
      const prompt = next[index];
      if (prompt === undefined) continue;
      const { result, failure } = await evaluateAnswer(asked, prompt);
      failures = failure === null ? 0 : failures + 1;
      lastFailure = failure ?? lastFailure;
      if (result === null) continue;
      finished.push(result);
      await deps.record(result);
    }
  }

  /**
   * Returns the finished prompt (null if the model charged nothing) and the error message (null unless the model or the
   * retriever failed).
   */
  async function evaluateAnswer(asked: Asked, { chunk, prompt }: Prompt) {
    if (asked.kind === 'failed') return { result: null, failure: asked.message };
    const { tokens } = asked;
    const of = { chunkId: chunk.id, prompt, tokens };
    const finish = (outcome: ChunkOutcome, query: string | null = null): FinishedChunk => ({ ...of, outcome, query });
    if (asked.kind !== 'query') return { result: finish(asked.kind), failure: null };
    const outcome = await classify(asked.query, chunk, signal);
    if (typeof outcome === 'object') return { result: finish('unfinished'), failure: outcome.message };
    return { result: finish(outcome, outcome === 'kept' ? asked.query : null), failure: null };
  }
}

type Prompt = ReturnType<typeof promptsOf>[number];

/**
 * Returns all prompts. `place` is the index of a prompt in the returned list, and determines the style of the prompt.
 */
function promptsOf({ chunks, perChunk }: GenerateRequest) {
  return chunks.flatMap((chunk, index) =>
    Array.from({ length: perChunk }, (_, prompt) => ({ chunk, prompt, place: index * perChunk + prompt })),
  );
}

function keyOf({ chunkId, prompt }: { readonly chunkId: string; readonly prompt: number }): string {
  return `${prompt} ${chunkId}`;
}

/** Returns as many of the next prompts as stay within the cost cap even at their maximum cost. */
function affordable(
  next: readonly Prompt[],
  finished: readonly FinishedChunk[],
  { maxCost, prices, seed }: GenerateRequest,
): readonly Prompt[] {
  if (maxCost === null || prices === null) return next;
  let spent = costOf(totalOf(finished), prices);
  const taken: Prompt[] = [];
  for (const prompt of next) {
    const { messages } = requestFor(prompt.chunk.content, prompt.place, seed);
    const input = estimateTokens(messages.map(({ content }) => content));
    // The repair request repeats the prompt and includes the first completion.
    const worst = { input: 2 * input + MAX_OUTPUT_TOKENS + 100, output: 2 * MAX_OUTPUT_TOKENS };
    spent += costOf(worst, prices);
    if (spent > maxCost) break;
    taken.push(prompt);
  }
  return taken;
}

function isNeverRetrieved(finished: readonly FinishedChunk[]): boolean {
  const lost = finished.filter(({ outcome }) => outcome === 'not_retrieved').length;
  return lost >= NEVER_RETRIEVED && !finished.some(({ outcome }) => outcome === 'kept');
}

function totalOf(finished: readonly { readonly tokens: Tokens }[]): Tokens {
  return {
    input: finished.reduce((sum, { tokens }) => sum + tokens.input, 0),
    output: finished.reduce((sum, { tokens }) => sum + tokens.output, 0),
  };
}

export interface Chunk {
  readonly id: string;
  readonly content: string;
}

/** The outcome of a query, or the error message if the retriever failed. */
type FilterVerdict = 'kept' | 'not_retrieved' | 'near_duplicate' | QueryProblem | { readonly message: string };

/** Number of top results of the retriever that must include the source chunk. */
const ROUND_TRIP = 10;
const NEAR_WORDS = 0.8;
const NEAR_COSINE = 0.92;

/**
 * Returns a filter that drops a query in three cases: no real user would write the query (see `queryProblem`), the
 * query is nearly the same as a known query, or the retriever's top 10 results do not include the source chunk. Two
 * queries are nearly the same if the Jaccard similarity of their words is at least 0.8, or if the cosine of their
 * vectors is above 0.92. Cosines are not compared if there is no embedder, or if it fails. The verdict on a query
 * depends on the queries that were accepted before it.
 */
function createQueryFilter(
  { retriever, embedder }: WatchedPipeline,
  known: readonly string[],
): (query: string, chunk: Chunk, signal: AbortSignal) => Promise<FilterVerdict> {
  const words = known.map((text) => new Set(wordsOf(text)));
  const vectors: Float32Array[] = [];
  let isFilled = false;

  async function vectorOf(text: string, signal: AbortSignal): Promise<Float32Array | null> {
    if (embedder === null) return null;
    if (!isFilled) {
      isFilled = true;
      const before = known.length === 0 ? null : await embedder.embed(known, signal);
      if (before?.kind === 'vectors') vectors.push(...before.vectors);
    }
    const answer = await embedder.embed([text], signal);
    return answer.kind === 'vectors' ? (answer.vectors[0] ?? null) : null;
  }

  return async (query, chunk, signal) => {
    const problem = queryProblem(query, chunk.content);
    if (problem !== null) return problem;
    const own = new Set(wordsOf(query));
    if (words.some((other) => jaccard(own, other) >= NEAR_WORDS)) return 'near_duplicate';
    const vector = await vectorOf(query, signal);
    const isNear = (other: Float32Array): boolean =>
      vector !== null && other.length === vector.length && cosineSimilarity(other, vector) > NEAR_COSINE;
    if (vectors.some(isNear)) return 'near_duplicate';
    const answer = await retriever.retrieve({ text: query, k: ROUND_TRIP, tags: {} }, signal);
    if (answer.kind === 'timeout') return { message: 'The retriever did not respond in time.' };
    if (answer.kind === 'error') return { message: `The retriever failed: ${answer.message}` };
    if (!answer.documents.slice(0, ROUND_TRIP).some(({ id }) => id === chunk.id)) return 'not_retrieved';
    words.push(own);
    if (vector !== null) vectors.push(vector);
    return 'kept';
  };
}

/** Outcome of one prompt about one chunk, after at most one attempt to repair a malformed completion. */
type Asked =
  | ((GeneratedQuery | { readonly kind: 'refused' }) & { readonly tokens: Tokens })
  | { readonly kind: 'failed'; readonly message: string };

export function requestFor(chunk: string, place: number, seed: number): ChatRequest {
  return {
    messages: queryMessages(chunk, queryStyle(place, seed)),
    schema: querySchema,
    maxTokens: MAX_OUTPUT_TOKENS,
    seed: seed + place,
  };
}

/** Asks the model for a query. Rejects only with the reason of `signal`. */
async function askForQuery(model: ChatModel, request: ChatRequest, signal: AbortSignal): Promise<Asked> {
  const first = await model.answer(request, signal);
  const read = interpret(first, tokensOf(request, first));
  if (read.kind !== 'malformed' || first.kind !== 'text') return read;
  const problem = first.isWhole ? read.problem : 'it was cut off';
  const repair = { ...request, messages: repairMessages(request.messages, first.text, problem) };
  const second = await model.answer(repair, signal);
  // The first completion is charged even if the repair fails.
  if (second.kind === 'failed') return read;
  return interpret(second, totalOf([read, { tokens: tokensOf(repair, second) }]));
}

function interpret(answer: ChatAnswer, tokens: Tokens): Asked {
  if (answer.kind === 'failed') return { kind: 'failed', message: answer.message };
  if (answer.kind === 'refused') return { kind: 'refused', tokens };
  return { ...readGeneratedQuery(answer.text), tokens };
}

/** Returns the token usage that the service reports, or an estimate if the service reports none. */
function tokensOf(request: ChatRequest, answer: ChatAnswer): Tokens {
  if (answer.kind === 'failed') return { input: 0, output: 0 };
  if (answer.usage !== null) return answer.usage;
  const input = estimateTokens(request.messages.map(({ content }) => content));
  return { input, output: answer.kind === 'text' ? estimateTokens([answer.text]) : 0 };
}
