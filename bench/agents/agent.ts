/** A simulated agent with known faults; it consists of a router, a rewriter, a loop and a stop rule. */
import type { RandomNumbers } from '../random-numbers.ts';
import { ANSWER, DEPTH, FORMS, type Library, type RetrieverName, SOURCES } from './library.ts';

export interface AgentFault {
  readonly name: string;
  readonly does: string;
  /** Share of turns in which the rewriter returns answers instead of queries. */
  readonly answers?: number;
  readonly isEveryCallTwice?: true;
  readonly isStoppedAfterFirst?: true;
  /** Index of a source that the agent never queries. */
  readonly neverAsked?: number;
  readonly retriever?: RetrieverName;
  /** Share of calls that fail. */
  readonly failing?: number;
}

export interface Call {
  readonly question: number;
  readonly form: number;
  readonly source: number;
  readonly documents: readonly number[];
  readonly hasFailed: boolean;
}

/** Habits of an agent without a fault. */
export interface Habits {
  readonly maxCalls: number;
  /** Share of turns in which the router queries the right source first. */
  readonly routed: number;
  /** Probability that the reader recognizes an answer in the retrieved documents. */
  readonly seen: number;
  /** Probability that the reader accepts a result list that contains no answer. */
  readonly contentAnyway: number;
  /** Probability that the agent repeats a call that succeeded. */
  readonly madeAgain: number;
  /** Share of turns whose first call sends the whole question instead of its keywords. */
  readonly asAsked: number;
}

export function drawHabits(random: RandomNumbers): Habits {
  const between = (low: number, high: number): number => low + (high - low) * random.uniform();
  return {
    maxCalls: 3 + random.below(3),
    routed: between(0.6, 0.85),
    seen: between(0.8, 0.95),
    contentAnyway: between(0.03, 0.12),
    madeAgain: between(0, 0.05),
    asAsked: between(0.2, 0.6),
  };
}

/** Returns the calls of one turn. */
export function runTurn(
  library: Library,
  question: number,
  fault: AgentFault,
  { maxCalls, routed, seen, contentAnyway, madeAgain, asAsked }: Habits,
  random: RandomNumbers,
): Call[] {
  const { questions } = library;
  const asked = questions[question];
  if (asked === undefined) return [];
  const { retriever = 'healthy', neverAsked = -1, answers = 0, failing = 0 } = fault;
  const isAnswered = random.uniform() < answers;
  const open = Array.from({ length: SOURCES }, (_, source) => source).filter((source) => source !== neverAsked);
  const isRouted = random.uniform() < routed && open.includes(asked.source);
  const order = [...open];
  const first = isRouted ? open.indexOf(asked.source) : random.below(open.length);
  const calls: Call[] = [];
  for (let turn = 0; turn < maxCalls; turn++) {
    const source = order[(first + turn) % order.length] ?? 0;
    const round = Math.floor(turn / order.length);
    const plain =
      turn === 0 && random.uniform() < asAsked ? 0 : 1 + ((turn === 0 ? 0 : turn - 1 + round) % (FORMS - 1));
    const form = isAnswered ? ANSWER : plain;
    const hasFailed = random.uniform() < failing;
    const documents = hasFailed ? [] : library.found(retriever, question, form, source).slice(0, DEPTH);
    const call: Call = { question, form, source, documents, hasFailed };
    calls.push(call);
    if (fault.isEveryCallTwice === true || random.uniform() < madeAgain) calls.push(call);
    const hasAnswer = documents.includes(asked.document);
    const isContent = random.uniform() < (hasAnswer ? seen : hasFailed ? 0 : contentAnyway);
    if (isContent || fault.isStoppedAfterFirst === true) break;
  }
  return calls;
}

export const nothingWrong: AgentFault = { name: 'nothing wrong', does: 'The agent and the retriever work.' };

export const betterRetriever: AgentFault = {
  name: 'better retriever',
  does: 'A better retriever ranks the passage with the answer higher, so the agent needs fewer calls.',
  retriever: 'better',
};

export const faults = [
  {
    name: 'rewriter answers',
    does: 'In 25 % of turns, the model answers the question instead of rewriting it.',
    cause: 'query_rewriting',
    answers: 0.25,
  },
  { name: 'calls made twice', does: 'Every call is made twice.', cause: 'agent_loop', isEveryCallTwice: true },
  {
    name: 'stops after the first call',
    does: 'The agent never calls a second time.',
    cause: 'agent_loop',
    isStoppedAfterFirst: true,
  },
  {
    name: 'source never queried',
    does: 'The agent never queries one of its three sources.',
    cause: 'agent_loop',
    neverAsked: 2,
  },
  {
    name: 'documents lost',
    does: 'The retriever loses a third of its documents.',
    cause: 'index_lost_documents',
    retriever: 'third_lost',
  },
] as const satisfies readonly (AgentFault & { readonly cause: string })[];

/** Retriever faults, which the diagnosis must not attribute to the agent. */
export const retrieverFaults = [
  {
    name: 'same list',
    does: 'The retriever returns the same list for every query.',
    cause: 'random_answers',
    retriever: 'same_list',
  },
  { name: 'calls fail', does: '30 % of the calls fail.', cause: 'retriever_failing', failing: 0.3 },
] as const satisfies readonly (AgentFault & { readonly cause: string })[];
