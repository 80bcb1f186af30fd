/** One question of the model about one chunk, and whether it is worth keeping. */

import type { ChatAnswer, ChatModel, ChatRequest } from '../../models/chat-model.ts';
import { cosineSimilarity } from '../../vector/matrix.ts';
import {
  estimateTokens,
  MAX_OUTPUT_TOKENS,
  type QuestionProblem,
  questionProblem,
  type Tokens,
} from '../rules/generation.ts';
import {
  questionMessages,
  questionSchema,
  questionStyle,
  readQuestion,
  repairMessages,
} from '../rules/question-prompt.ts';
import { jaccard, wordsOf } from '../rules/similar-texts.ts';
import type { WatchedPipeline } from '../watched-pipeline.ts';

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
export function createQuestionSieve(
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
export async function askForQuestion(model: ChatModel, request: ChatRequest, signal: AbortSignal): Promise<Asked> {
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
