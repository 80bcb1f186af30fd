/** A stand-in for an agent: it rewrites each question into keywords, and searches again until it finds the answer. */
import type { LiveQuery } from '../live/rules/live-query.ts';
import { createRandom } from '../math/stats/random.ts';
import { type DemoDocument, readDemoDocuments } from './rag/corpus.ts';
import { contentWords } from './rag/hashed-tfidf.ts';

type SearchAnswer = Pick<LiveQuery, 'results' | 'latencyMs' | 'error'>;

/** Share of turns in which the broken rewriter answers the question from memory. */
export const ANSWERED_SHARE = 0.4;
/** The agent reads this many documents of each retrieval. */
const READ = 3;
const MIN_SENTENCE_WORDS = 8;
const SEED = 2;

export type DemoAgent = Awaited<ReturnType<typeof createDemoAgent>>;

/** @throws RecalldError file_unreadable */
export async function createDemoAgent(search: (text: string) => Promise<SearchAnswer>) {
  const passages = await readDemoDocuments();
  const fill = createRandom(SEED);
  const drawn = new Uint32Array(1);
  const uniform = (): number => {
    fill(drawn);
    return (drawn[0] ?? 0) / 2 ** 32;
  };
  let isBroken = false;
  return {
    setBroken(broken: boolean): void {
      isBroken = broken;
    },
    /** Chooses the queries of one turn, in order; they depend on the question and on chance, not on the results. */
    queriesFor({ text, document }: { readonly text: string; readonly document: string }): readonly string[] {
      const isAnswered = isBroken && uniform() < ANSWERED_SHARE;
      return isAnswered ? [inventedAnswer(passages, document)] : [keywordsOf(text), text];
    },
    /** Searches until a document of the answer is found or there are no more queries. */
    async retrieve(queries: readonly string[], document: string) {
      const retrievals: { readonly text: string; readonly answer: SearchAnswer }[] = [];
      for (const text of queries) {
        const answer = await search(text);
        retrievals.push({ text, answer });
        if (answer.results.slice(0, READ).some(({ id }) => id === document)) break;
      }
      return retrievals;
    },
  };
}

function keywordsOf(text: string): string {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => contentWords(word).length > 0).join(' ');
}

/** A statement about the same article, as from a model that remembers it in part. */
function inventedAnswer(passages: readonly DemoDocument[], document: string): string {
  const [article = ''] = document.split('/');
  const others = passages.filter(({ id }) => id.startsWith(`${article}/`) && id !== document);
  const sentences = others.flatMap(({ text }) => text.match(/[^.!?]+\./g) ?? []).map((sentence) => sentence.trim());
  const long = sentences.filter((sentence) => sentence.split(' ').length >= MIN_SENTENCE_WORDS);
  return long[document.length % Math.max(1, long.length)] ?? `It is described in the article about ${article}.`;
}
