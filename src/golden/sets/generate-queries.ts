/** Asks a chat model for questions about the chunks of a store, and keeps those that a person could have asked. */
import type { ChatAnswer, ChatModel, ChatRequest } from '../../connectors/models/chat-model.ts';
import { cosineSimilarity } from '../../math/vector/matrix.ts';
import {
  costOf,
  estimateTokens,
  MAX_OUTPUT_TOKENS,
  type QuestionProblem,
  questionMessages,
  questionProblem,
  questionSchema,
  questionStyle,
  repairMessages,
  type TokenPrices,
  type Tokens,
} from '../rules/generation.ts';
import { readQuestion } from '../rules/read-question.ts';
import { jaccard, wordsOf } from '../rules/similar-texts.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';

export type ChunkOutcome =
  | 'kept'
  | 'no_question'
  | 'refused'
  | 'malformed'
  | 'not_retrieved'
  | 'near_duplicate'
  /** The retriever failed, so that nobody knows; the next call asks again. */
  | 'unfinished'
  | QuestionProblem;

/** What became of one asking about a chunk, and what it cost. */
export interface FinishedChunk {
  readonly chunkId: string;
  /** Which asking about this chunk, from 0. */
  readonly asking: number;
  readonly outcome: ChunkOutcome;
  /** Of a question that was kept. */
  readonly question: string | null;
  readonly tokens: Tokens;
}

export interface GenerateRequest {
  readonly questions: number;
  /** How often each chunk is asked about, in another style each time; 1 or more. */
  readonly perChunk: number;
  readonly seed: number;
  /** In the order in which they are to be asked about. */
  readonly chunks: readonly Chunk[];
  /** Of an earlier call that was interrupted. */
  readonly settled: readonly FinishedChunk[];
  /** Questions that the set has already. */
  readonly known: readonly string[];
  /** Most money that may be spent, what was spent before included; null for no limit. */
  readonly maxCost: number | null;
  readonly prices: TokenPrices | null;
}

export interface GenerateDeps {
  readonly model: ChatModel;
  /** Called for each chunk as soon as it is settled; the next ones wait for it. */
  readonly settle: (chunk: FinishedChunk) => Promise<void>;
  readonly onProgress: (progress: { readonly answered: number; readonly total: number }) => void;
}

export interface Generation {
  readonly settled: readonly FinishedChunk[];
  readonly tokens: Tokens;
  /** Why it ended. `failing`: the model or the retriever failed again and again, `message` says how. */
  readonly end:
    | { readonly kind: 'complete' | 'cost_cap' | 'no_more_chunks' | 'never_retrieved' }
    | { readonly kind: 'failing'; readonly message: string };
}

const AT_ONCE = 4;
/** Failures in a row after which going on makes no sense. */
const FAILURES = 5;
/** Questions of which not one found its chunk: then the ids of retriever and store differ. */
const NEVER_RETRIEVED = 20;

/**
 * Goes through the chunks until there are enough questions. The cap holds: a call is made only when even its repair,
 * at full length, would stay under it. Rejects only with the reason of `signal`; what was settled can be given to the
 * next call.
 */
export async function generateQuestions(
  deps: GenerateDeps,
  pipeline: WatchedPipeline,
  request: GenerateRequest,
  signal: AbortSignal,
): Promise<Generation> {
  const settled = [...request.settled];
  const done = new Set(settled.filter(({ outcome }) => outcome !== 'unfinished').map(keyOf));
  const open = askingsOf(request).filter((one) => !done.has(keyOf({ chunkId: one.chunk.id, asking: one.asking })));
  const kept = (): FinishedChunk[] => settled.filter(({ outcome }) => outcome === 'kept');
  const known: KnownQuestions = [...request.known, ...kept().flatMap(({ question }) => question ?? [])];
  const sieve = createQuestionSieve(pipeline, known);
  let [failures, lastFailure] = [0, ''];

  for (;;) {
    signal.throwIfAborted();
    deps.onProgress({ answered: kept().length, total: request.questions });
    const end = (kind: Exclude<Generation['end']['kind'], 'failing'>): Generation => ({
      settled,
      tokens: totalOf(settled),
      end: { kind },
    });
    const lacking = request.questions - kept().length;
    if (lacking <= 0) return end('complete');
    if (isNeverRetrieved(settled)) return end('never_retrieved');
    if (failures >= FAILURES) return { ...end('complete'), end: { kind: 'failing', message: lastFailure } };
    const next = affordable(open.slice(0, Math.min(AT_ONCE, lacking)), settled, request);
    if (open.length === 0) return end('no_more_chunks');
    if (next.length === 0) return end('cost_cap');
    open.splice(0, next.length);
    const answers = await Promise.all(
      next.map(({ place, chunk }) =>
        askForQuestion(deps.model, requestFor(chunk.content, place, request.seed), signal),
      ),
    );
    for (const [index, asked] of answers.entries()) {
      const asking = next[index];
      if (asking === undefined) continue;
      const { result, failure } = await judge(asked, asking);
      failures = failure === null ? 0 : failures + 1;
      lastFailure = failure ?? lastFailure;
      if (result === null) continue;
      settled.push(result);
      await deps.settle(result);
    }
  }

  async function judge(asked: Asked, { chunk, asking }: Asking): Promise<Judged> {
    if (asked.kind === 'failed') return { result: null, failure: asked.message };
    const { tokens } = asked;
    const settle = (outcome: ChunkOutcome, question: string | null = null): FinishedChunk => ({
      chunkId: chunk.id,
      asking,
      outcome,
      question,
      tokens,
    });
    if (asked.kind !== 'question') return { result: settle(asked.kind), failure: null };
    const verdict = await sieve(asked.question, chunk, signal);
    if (verdict.kind === 'failed') return { result: settle('unfinished'), failure: verdict.message };
    const { outcome } = verdict;
    return { result: settle(outcome, outcome === 'kept' ? asked.question : null), failure: null };
  }
}

interface Judged {
  /** Null when nothing was paid for. */
  readonly result: FinishedChunk | null;
  readonly failure: string | null;
}

interface Asking {
  readonly chunk: Chunk;
  readonly asking: number;
  /** Among all askings, which draws the style. */
  readonly place: number;
}

function askingsOf({ chunks, perChunk }: GenerateRequest): Asking[] {
  return chunks.flatMap((chunk, index) =>
    Array.from({ length: perChunk }, (_, asking) => ({ chunk, asking, place: index * perChunk + asking })),
  );
}

function keyOf({ chunkId, asking }: Pick<FinishedChunk, 'chunkId' | 'asking'>): string {
  return `${asking} ${chunkId}`;
}

/** As many of the next calls as even at their dearest stay under the cap. */
function affordable(
  next: readonly Asking[],
  settled: readonly FinishedChunk[],
  { maxCost, prices, seed }: GenerateRequest,
): readonly Asking[] {
  if (maxCost === null || prices === null) return next;
  let spent = costOf(totalOf(settled), prices);
  const taken: Asking[] = [];
  for (const asking of next) {
    const { messages } = requestFor(asking.chunk.content, asking.place, seed);
    const input = estimateTokens(messages.map(({ content }) => content));
    // The repair sends everything again, and the answer with it.
    const worst = { input: 2 * input + MAX_OUTPUT_TOKENS + 100, output: 2 * MAX_OUTPUT_TOKENS };
    spent += costOf(worst, prices);
    if (spent > maxCost) break;
    taken.push(asking);
  }
  return taken;
}

function isNeverRetrieved(settled: readonly FinishedChunk[]): boolean {
  const lost = settled.filter(({ outcome }) => outcome === 'not_retrieved').length;
  return lost >= NEVER_RETRIEVED && !settled.some(({ outcome }) => outcome === 'kept');
}

function totalOf(settled: readonly FinishedChunk[]): Tokens {
  return {
    input: settled.reduce((sum, { tokens }) => sum + tokens.input, 0),
    output: settled.reduce((sum, { tokens }) => sum + tokens.output, 0),
  };
}

/** A piece of a document, as the store has it. */
export interface Chunk {
  readonly id: string;
  readonly content: string;
}

/** Texts of questions that are there already. */
export type KnownQuestions = readonly string[];

export type SieveVerdict =
  | {
      readonly kind: 'judged';
      readonly outcome: 'kept' | 'not_retrieved' | 'near_duplicate' | QuestionProblem;
    }
  | { readonly kind: 'failed'; readonly message: string };

/** The source must be among so many documents of an independent retrieval. */
const ROUND_TRIP = 10;
const NEAR_WORDS = 0.8;
const NEAR_COSINE = 0.92;

/**
 * A question is dropped when it knows its source (see `questionProblem`), when it is nearly one that is there (Jaccard
 * similarity of words from 0.8, or, with an embedder, a cosine above 0.92), and when the retriever of the pipeline does
 * not return the chunk that it came from among the first 10. An embedder that fails is done without. The verdicts
 * depend on the questions kept before.
 */
function createQuestionSieve(
  { retriever, embedder }: WatchedPipeline,
  known: KnownQuestions,
): (question: string, chunk: Chunk, signal: AbortSignal) => Promise<SieveVerdict> {
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

  return async (question, chunk, signal) => {
    const problem = questionProblem(question, chunk.content);
    if (problem !== null) return judged(problem);
    const own = new Set(wordsOf(question));
    if (words.some((other) => jaccard(own, other) >= NEAR_WORDS)) return judged('near_duplicate');
    const vector = await vectorOf(question, signal);
    const isNear = (other: Float32Array): boolean =>
      vector !== null && other.length === vector.length && cosineSimilarity(other, vector) > NEAR_COSINE;
    if (vectors.some(isNear)) return judged('near_duplicate');
    const answer = await retriever.retrieve({ text: question, k: ROUND_TRIP, tags: {} }, signal);
    if (answer.kind === 'timeout') return { kind: 'failed', message: 'The retriever did not answer in time.' };
    if (answer.kind === 'error') return { kind: 'failed', message: `The retriever failed: ${answer.message}` };
    if (!answer.documents.slice(0, ROUND_TRIP).some(({ id }) => id === chunk.id)) return judged('not_retrieved');
    words.push(own);
    if (vector !== null) vectors.push(vector);
    return judged('kept');
  };
}

function judged(outcome: Extract<SieveVerdict, { kind: 'judged' }>['outcome']): SieveVerdict {
  return { kind: 'judged', outcome };
}

/** One question of the model about one chunk, with one attempt to repair an answer of the wrong shape. */
export type Asked =
  | { readonly kind: 'question'; readonly question: string; readonly tokens: Tokens }
  | { readonly kind: 'no_question' | 'refused'; readonly tokens: Tokens }
  | { readonly kind: 'malformed'; readonly tokens: Tokens; readonly problem: string }
  | { readonly kind: 'failed'; readonly message: string };

export function requestFor(chunk: string, place: number, seed: number): ChatRequest {
  return {
    messages: questionMessages(chunk, questionStyle(place, seed)),
    schema: questionSchema,
    maxTokens: MAX_OUTPUT_TOKENS,
    seed: seed + place,
  };
}

/** Rejects only with the reason of `signal`. */
async function askForQuestion(model: ChatModel, request: ChatRequest, signal: AbortSignal): Promise<Asked> {
  const first = await model.answer(request, signal);
  const read = interpret(first, tokensOf(request, first));
  if (read.kind !== 'malformed' || first.kind !== 'text') return read;
  const problem = first.isWhole ? read.problem : 'it was cut off';
  const repair = { ...request, messages: repairMessages(request.messages, first.text, problem) };
  const second = await model.answer(repair, signal);
  // What was paid for the first answer counts, also when the repair fails.
  if (second.kind === 'failed') return read;
  return interpret(second, sum(read.tokens, tokensOf(repair, second)));
}

function interpret(answer: ChatAnswer, tokens: Tokens): Asked {
  if (answer.kind === 'failed') return { kind: 'failed', message: answer.message };
  if (answer.kind === 'refused') return { kind: 'refused', tokens };
  const read = readQuestion(answer.text);
  switch (read.kind) {
    case 'question':
      return { kind: 'question', question: read.question, tokens };
    case 'none':
      return { kind: 'no_question', tokens };
    case 'malformed':
      return { kind: 'malformed', tokens, problem: read.problem };
  }
}

/** What the service counted, else an estimate. */
function tokensOf(request: ChatRequest, answer: ChatAnswer): Tokens {
  if (answer.kind === 'failed') return { input: 0, output: 0 };
  if (answer.usage !== null) return answer.usage;
  const input = estimateTokens(request.messages.map(({ content }) => content));
  return { input, output: answer.kind === 'text' ? estimateTokens([answer.text]) : 0 };
}

function sum(a: Tokens, b: Tokens): Tokens {
  return { input: a.input + b.input, output: a.output + b.output };
}
