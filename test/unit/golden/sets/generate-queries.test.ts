import { describe, expect, it } from 'vitest';
import type { ChatAnswer, ChatModel, ChatRequest } from '../../../../src/connectors/models/chat-model.ts';
import type { Retriever } from '../../../../src/connectors/retrievers/retriever.ts';
import {
  type Chunk,
  type FinishedChunk,
  type GenerateRequest,
  generateQueries,
} from '../../../../src/golden/sets/generate-queries.ts';
import { aWatchedPipeline, documents } from '../../../support/builders.ts';

const never = new AbortController().signal;

const numbers = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
/** Returns words that occur only in the chunk with number `n`. */
const spelled = (n: number): string => `${numbers[n % 10]}${n} ${numbers[(n * 7) % 10]}x${n}`;
const chunksOf = (count: number): Chunk[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `c${n}`,
    content: `Chunk ${n} is about ${spelled(n)} and more.`,
  }));

const text = (value: string, isWhole = true): ChatAnswer => ({
  kind: 'text',
  text: value,
  isWhole,
  usage: { input: 100, output: 10 },
});
const question = (value: string): ChatAnswer => text(JSON.stringify({ answerable: true, question: value }));

/** Returns the number of the chunk that a request is about. */
function chunkOf({ messages }: ChatRequest): number {
  return Number(/Chunk (\d+) is/.exec(messages[1]?.content ?? '')?.[1]);
}
const isRepair = ({ messages }: ChatRequest): boolean => messages.length > 2;

function aModel(reply: (chunk: number, request: ChatRequest) => ChatAnswer): ChatModel & { calls: number } {
  const model = {
    model: 'small',
    calls: 0,
    answer: async (request: ChatRequest) => {
      model.calls += 1;
      return reply(chunkOf(request), request);
    },
  };
  return model;
}

/** Finds the chunks that contain a word of the query. */
const finder: Retriever = {
  async retrieve({ text: asked }) {
    const found = chunksOf(60).filter(({ content }) => asked.split(' ').some((word) => content.includes(` ${word} `)));
    return {
      kind: 'documents',
      documents: documents(...found.map(({ id }) => id)),
      latencyMs: 1,
      attempts: 1,
    };
  },
};
const ask = (n: number): string => `where find ${spelled(n)} please`;

async function generate(model: ChatModel, request: Partial<GenerateRequest> = {}, retriever: Retriever = finder) {
  const saved: FinishedChunk[] = [];
  const deps = {
    model,
    record: async (chunk: FinishedChunk) => {
      saved.push(chunk);
    },
    onProgress: () => undefined,
  };
  const nothing = {
    queries: 3,
    perChunk: 1,
    seed: 1,
    chunks: chunksOf(20),
    finished: [],
    known: [],
    maxCost: null,
    prices: null,
  };
  const result = await generateQueries(deps, aWatchedPipeline({ retriever }), { ...nothing, ...request }, never);
  return { ...result, saved };
}
const outcomes = (finished: readonly FinishedChunk[]) =>
  finished.map(({ chunkId, outcome }) => `${chunkId} ${outcome}`);

describe('the generation of queries', () => {
  it('ends when the requested number of queries is generated, and saves each one', async () => {
    const { end, finished, saved, tokens } = await generate(aModel((n) => question(ask(n))));
    expect(end).toEqual({ kind: 'complete' });
    expect(outcomes(finished)).toEqual(['c0 kept', 'c1 kept', 'c2 kept']);
    expect(finished[0]?.query).toBe(ask(0));
    expect(saved).toEqual(finished);
    expect(tokens).toEqual({ input: 300, output: 30 });
  });

  it('drops unnatural, unanswerable, unretrievable and duplicate queries', async () => {
    const replies: Record<number, ChatAnswer> = {
      0: question('What does the passage say?'),
      1: question(`Chunk 1 is about ${spelled(1)} and more.`),
      2: { kind: 'refused', usage: null },
      3: text('{"answerable": false, "question": ""}'),
      4: question(ask(5)),
      5: question(ask(5)),
      6: question(`${ask(5)}?`),
      7: question(ask(8)),
    };
    const { finished } = await generate(
      aModel((n) => replies[n] ?? question(ask(n))),
      { queries: 2, known: [ask(8).toUpperCase()] },
    );
    expect(outcomes(finished).slice(0, 8)).toEqual([
      'c0 points_at_text',
      'c1 quotes_chunk',
      'c2 refused',
      'c3 no_query',
      'c4 not_retrieved',
      'c5 kept',
      'c6 near_duplicate',
      'c7 near_duplicate',
    ]);
  });

  it('repairs a malformed completion once, and counts the cost of both requests', async () => {
    const once = aModel((n, request) => (isRepair(request) ? question(ask(n)) : text('{"question": "How', false)));
    expect(await generate(once, { queries: 1 })).toMatchObject({
      end: { kind: 'complete' },
      tokens: { input: 200, output: 20 },
    });
    const never = aModel(() => text('nonsense'));
    const { finished, end } = await generate(never, { queries: 1, chunks: chunksOf(2) });
    expect(outcomes(finished)).toEqual(['c0 malformed', 'c1 malformed']);
    expect(end).toEqual({ kind: 'no_more_chunks' });
  });

  it('continues where it was interrupted, and repeats no request', async () => {
    const before = await generate(
      aModel((n) => question(ask(n))),
      { queries: 2 },
    );
    const model = aModel((n) => question(ask(n)));
    const { finished } = await generate(model, { queries: 5, finished: before.finished });
    expect(model.calls).toBe(3);
    expect(outcomes(finished)).toEqual(['c0 kept', 'c1 kept', 'c2 kept', 'c3 kept', 'c4 kept']);
  });

  it('never spends more than the cost cap, even if every completion has the maximum length', async () => {
    const prices = { input: 1, output: 10 };
    const expensive = aModel((n, request) => {
      const input = Math.ceil(request.messages.reduce((sum, { content }) => sum + content.length, 0) / 3.2);
      const usage = { input, output: 300 };
      return isRepair(request)
        ? { kind: 'text', text: JSON.stringify({ answerable: true, question: ask(n) }), isWhole: true, usage }
        : { kind: 'text', text: 'x'.repeat(900), isWhole: false, usage };
    });
    for (const maxCost of [0.0001, 0.012, 0.03, 0.1]) {
      const { end, tokens } = await generate(expensive, { queries: 15, maxCost, prices });
      expect(end).toEqual({ kind: 'cost_cap' });
      expect((tokens.input * prices.input + tokens.output * prices.output) / 1e6).toBeLessThanOrEqual(maxCost);
    }
    expect((await generate(expensive, { queries: 5, maxCost: 10, prices })).end).toEqual({ kind: 'complete' });
  });

  it('counts the cost of earlier calls towards the cap', async () => {
    const prices = { input: 1, output: 1 };
    const finished = [
      { chunkId: 'c0', prompt: 0, outcome: 'refused' as const, query: null, tokens: { input: 1e6, output: 0 } },
    ];
    const model = aModel((n) => question(ask(n)));
    expect((await generate(model, { finished, maxCost: 1, prices })).end).toEqual({ kind: 'cost_cap' });
    expect(model.calls).toBe(0);
  });

  it('generates several queries from each chunk, each in a different style, and continues where it stopped', async () => {
    const prompts: string[] = [];
    const model = aModel((n, { messages }) => {
      prompts.push(messages[1]?.content.split('\n\nSource')[0] ?? '');
      return question(
        `${['where find', 'who sold', 'when was'][prompts.length % 3]} ${spelled(n)} number ${prompts.length}`,
      );
    });
    const { finished, end } = await generate(model, { queries: 5, perChunk: 3 });
    expect(end).toEqual({ kind: 'complete' });
    expect(finished.map(({ chunkId, prompt }) => `${chunkId} ${prompt}`)).toEqual([
      'c0 0',
      'c0 1',
      'c0 2',
      'c1 0',
      'c1 1',
    ]);
    expect(new Set(prompts).size).toBe(prompts.length);
    const more = await generate(model, { queries: 6, perChunk: 3, finished });
    expect(more.finished.at(-1)).toMatchObject({ chunkId: 'c1', prompt: 2 });
  });

  it('stops when the model fails repeatedly, with its error', async () => {
    const model = aModel(() => ({
      kind: 'failed',
      code: 'http_500',
      message: 'The chat model question failed: 500.',
    }));
    const { end, finished } = await generate(model, { queries: 10 });
    expect(end).toEqual({ kind: 'failing', message: 'The chat model question failed: 500.' });
    expect(finished).toEqual([]);
    expect(model.calls).toBeLessThanOrEqual(8);
  });

  it('keeps count of the cost when the retriever fails, and retries the chunk later', async () => {
    const broken: Retriever = {
      retrieve: async () => ({ kind: 'timeout', message: 'It did not answer.', latencyMs: 1, attempts: 1 }),
    };
    const model = aModel((n) => question(ask(n)));
    const first = await generate(model, { queries: 10 }, broken);
    expect(first.end).toMatchObject({ kind: 'failing', message: 'The retriever did not respond in time.' });
    expect(first.tokens.input).toBe(100 * first.finished.length);
    const second = await generate(model, { queries: 1, finished: first.finished });
    expect(second.finished.at(-1)).toMatchObject({ chunkId: 'c0', outcome: 'kept' });
  });

  it('stops early if the retriever returns only other ids than those of the chunks', async () => {
    const other: Retriever = {
      retrieve: async () => ({ kind: 'documents', documents: documents('other'), latencyMs: 1, attempts: 1 }),
    };
    const model = aModel((n) => question(ask(n)));
    const { end } = await generate(model, { queries: 50, chunks: chunksOf(60) }, other);
    expect(end).toEqual({ kind: 'never_retrieved' });
    expect(model.calls).toBeLessThanOrEqual(24);
  });

  it('stops at once when it is aborted', async () => {
    const stop = new AbortController();
    const model = aModel((n) => {
      if (n === 1) stop.abort(new Error('stopped'));
      return question(ask(n));
    });
    const deps = { model, record: async () => undefined, onProgress: () => undefined };
    const request = {
      queries: 9,
      perChunk: 1,
      seed: 1,
      chunks: chunksOf(20),
      finished: [],
      known: [],
      maxCost: null,
      prices: null,
    };
    await expect(generateQueries(deps, aWatchedPipeline({ retriever: finder }), request, stop.signal)).rejects.toThrow(
      'stopped',
    );
    expect(model.calls).toBe(4);
  });
});
