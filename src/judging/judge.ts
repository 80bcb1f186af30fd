import { hash } from 'node:crypto';
import type { ChatAnswer, ChatModel, ChatRequest } from '../connectors/models/chat-model.ts';
import type { Reranker } from '../connectors/models/reranker.ts';
import { costOf, estimateTokens, type TokenPrices, type Tokens } from '../golden/rules/generation.ts';
import {
  gradeMessages,
  gradeOfScore,
  gradeSchema,
  isSuspect,
  promptIdentity,
  readGrade,
  readTexts,
  repairMessages,
} from './rules/judge-prompt.ts';

export interface JudgeRequest {
  readonly query: string;
  readonly document: string;
}

export interface CallResult {
  /** Cost of the call in US dollars. */
  readonly cost: number;
  /** True if a text may contain a prompt injection, so that a person must review the grade. */
  readonly isFlagged: boolean;
}

/** Outcome of one call. `failed` is final and has a reason; `unreachable` is retried later. */
export type JudgeAnswer =
  | (CallResult & { readonly kind: 'grade'; readonly grade: number })
  | (CallResult & { readonly kind: 'failed'; readonly problem: 'malformed' | 'refused' })
  | { readonly kind: 'unreachable'; readonly message: string };

export interface Judge {
  readonly name: string;
  /** Identifies the model, the prompt and every setting that is the same for all documents. */
  readonly fingerprint: string;
  /** Upper bound on the cost of one call, including the repair request, in US dollars. */
  maxCost(request: JudgeRequest): number;
  /** Cost in US dollars of a call whose first answer is a valid grade. */
  typicalCost(request: JudgeRequest): number;
  close?(): void;
  /** Rejects only with the reason of `signal`. */
  grade(request: JudgeRequest, signal: AbortSignal): Promise<JudgeAnswer>;
}

const MAX_OUTPUT_TOKENS = 300;
/** Upper bound on the number of tokens in `{"grade": 3}`. */
const USUAL_OUTPUT_TOKENS = 10;

function requestFor({ query, document }: JudgeRequest): ChatRequest {
  return {
    ...gradeMessages(query, document),
    schema: gradeSchema,
    maxTokens: MAX_OUTPUT_TOKENS,
    seed: 1,
    temperature: 0,
    purpose: 'grading',
  };
}

/** Creates a judge with a chat model. If the answer is invalid, the judge asks once for a valid answer. */
export function createChatJudge(model: ChatModel, address: string, prices: TokenPrices): Judge {
  return {
    name: model.model,
    fingerprint: fingerprintOf(['llm', address, model.model, promptIdentity()]),
    maxCost(request) {
      const input = inputTokens(requestFor(request));
      // The repair request repeats the first request and adds the first answer.
      return costOf({ input: 2 * input + MAX_OUTPUT_TOKENS + 100, output: 2 * MAX_OUTPUT_TOKENS }, prices);
    },
    typicalCost: (request) => costOf({ input: inputTokens(requestFor(request)), output: USUAL_OUTPUT_TOKENS }, prices),
    close: () => model.close?.(),
    async grade(asked, signal) {
      const request = requestFor(asked);
      const isFlagged = isSuspect(asked.query, asked.document);
      const first = await model.answer(request, signal);
      if (first.kind === 'failed') return { kind: 'unreachable', message: first.message };
      const spent = costOf(tokensOf(request, first), prices);
      const read = readAnswer(first, isFlagged, spent);
      if (first.kind === 'refused' || read.kind === 'grade') return read;
      const repair = { ...request, messages: repairMessages(request.messages, first.text) };
      const second = await model.answer(repair, signal);
      // The first answer has been paid for, even if the repair request fails.
      if (second.kind === 'failed') return read;
      return readAnswer(second, isFlagged, spent + costOf(tokensOf(repair, second), prices));
    },
  };
}

function readAnswer(answer: Exclude<ChatAnswer, { kind: 'failed' }>, isFlagged: boolean, cost: number): JudgeAnswer {
  if (answer.kind === 'refused') return { kind: 'failed', problem: 'refused', isFlagged, cost };
  const grade = readGrade(answer.text);
  if (grade === null) return { kind: 'failed', problem: 'malformed', isFlagged, cost };
  return { kind: 'grade', grade, isFlagged, cost };
}

const inputTokens = ({ messages }: ChatRequest): number => estimateTokens(messages.map(({ content }) => content));

/** Returns the token counts that the service reported; if it reported none, returns an estimate. */
function tokensOf(request: ChatRequest, answer: Exclude<ChatAnswer, { kind: 'failed' }>): Tokens {
  if (answer.usage !== null) return answer.usage;
  const input = inputTokens(request);
  return { input, output: answer.kind === 'text' ? estimateTokens([answer.text]) : 0 };
}

/**
 * Creates a judge with a cross-encoder.
 *
 * @param limits minimum scores of the grades 1, 2 and 3, ascending
 */
export function createRerankerJudge(reranker: Reranker, identity: string, limits: readonly number[]): Judge {
  return {
    name: 'reranker',
    fingerprint: fingerprintOf(['reranker', identity, JSON.stringify(limits)]),
    maxCost: () => 0,
    typicalCost: () => 0,
    close: () => void reranker.close?.(),
    async grade({ query, document }, signal) {
      const isFlagged = isSuspect(query, document);
      const { document: text } = readTexts(query, document);
      const answer = await reranker.rerank({ text: query, candidates: [{ id: 'document', text }], k: 1 }, signal);
      if (answer.kind === 'failed') return { kind: 'unreachable', message: answer.message };
      const score = answer.documents[0]?.score;
      if (score === undefined) return { kind: 'failed', problem: 'malformed', isFlagged, cost: 0 };
      return { kind: 'grade', grade: gradeOfScore(score, limits), isFlagged, cost: 0 };
    },
  };
}

function fingerprintOf(parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'hex').slice(0, 12);
}
