/** A stand-in for an agent: it rewrites each question into keywords, and searches again until it finds the answer. */
import { type DemoDocument, readDemoDocuments } from './rag/corpus.ts';
import { contentWords } from './rag/hashed-tfidf.ts';
import { type AskedQuestion, type SearchAnswer, uniforms } from './traffic.ts';

/** An agent's retrievals for one question. */
export interface AgentTurn {
  readonly question: string;
  readonly sessionId: string;
  readonly occurredAt: Date;
  readonly retrievals: readonly {
    readonly text: string;
    readonly answer: SearchAnswer;
    readonly documents: readonly { readonly id: string; readonly text: string; readonly metadata: object }[];
  }[];
}

/** Share of turns in which a broken rewriter answers the question from memory instead of rewriting it. */
export const ANSWERED_SHARE = 0.4;
/** Number of documents that the agent reads from each retrieval. */
const READ = 3;
const MIN_SENTENCE_WORDS = 8;
const SEED = 2;

/** @throws RecalldError file_unreadable */
export async function createDemoAgent(search: (text: string) => Promise<SearchAnswer>) {
  const passages = await readDemoDocuments();
  const texts = new Map(passages.map(({ id, text }) => [id, text]));
  const uniform = uniforms(SEED);
  let isBroken = false;
  return {
    setBroken(broken: boolean): void {
      isBroken = broken;
    },
    /**
     * Searches until a document with the answer is found or no query is left. The queries do not depend on the results.
     */
    async turn({ question, sessionId, occurredAt }: AskedQuestion): Promise<AgentTurn> {
      const { text: asked, document } = question;
      const isAnswered = isBroken && uniform() < ANSWERED_SHARE;
      const queries = isAnswered ? [inventedAnswer(passages, document)] : [keywordsOf(asked), asked];
      const retrievals: AgentTurn['retrievals'][number][] = [];
      for (const text of queries) {
        const answer = await search(text);
        const documents = answer.results.map(({ id, fields = {} }) => ({
          id,
          text: texts.get(id) ?? '',
          metadata: fields,
        }));
        retrievals.push({ text, answer, documents });
        if (answer.results.slice(0, READ).some(({ id }) => id === document)) break;
      }
      return { question: asked, sessionId, occurredAt, retrievals };
    },
  };
}

function keywordsOf(text: string): string {
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => contentWords(word).length > 0).join(' ');
}

/** Returns a statement that a model might invent: a sentence from another passage of the question's article. */
function inventedAnswer(passages: readonly DemoDocument[], document: string): string {
  const [article = ''] = document.split('/');
  const others = passages.filter(({ id }) => id.startsWith(`${article}/`) && id !== document);
  const sentences = others.flatMap(({ text }) => text.match(/[^.!?]+\./g) ?? []).map((sentence) => sentence.trim());
  const long = sentences.filter((sentence) => sentence.split(' ').length >= MIN_SENTENCE_WORDS);
  return long[document.length % Math.max(1, long.length)] ?? `It is described in the article about ${article}.`;
}
