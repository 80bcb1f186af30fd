/** One question of the model about one chunk, with one attempt to repair an answer of the wrong shape. */
import type { ChatAnswer, ChatModel, ChatRequest } from '../../models/chat-model.ts';
import { estimateTokens, MOST_OUTPUT_TOKENS, type Tokens } from '../rules/generation.ts';
import {
  questionMessages,
  questionSchema,
  questionStyle,
  readQuestion,
  repairMessages,
} from '../rules/question-prompt.ts';

export type Asked =
  | { readonly kind: 'question'; readonly question: string; readonly tokens: Tokens }
  | { readonly kind: 'no_question' | 'refused'; readonly tokens: Tokens }
  | { readonly kind: 'malformed'; readonly tokens: Tokens; readonly problem: string }
  | { readonly kind: 'failed'; readonly message: string };

export function requestFor(chunk: string, place: number, seed: number): ChatRequest {
  return {
    messages: questionMessages(chunk, questionStyle(place, seed)),
    schema: questionSchema,
    maxTokens: MOST_OUTPUT_TOKENS,
    seed: seed + place,
  };
}

/** Rejects only with the reason of `signal`. */
export async function askForQuestion(
  model: ChatModel,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<Asked> {
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
