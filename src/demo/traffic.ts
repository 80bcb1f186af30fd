/**
 * Simulated users, who are more active by day than by night, and simulated reviewers, whose grades follow the
 * judgments.
 */
import type { SimulatedDaemon } from '../app/simulated-daemon.ts';
import { RecalldError } from '../core/errors.ts';
import { groupBy } from '../core/group-by.ts';
import { HOUR_MS } from '../core/time.ts';
import type { LiveQuery } from '../live/rules/live-query.ts';
import { createRandom, drawn } from '../math/stats/random.ts';
import { PIPELINE, PUBLIC, TENANT } from './demo-config.ts';
import { type DemoQuestion, readDemoAnswers, readDemoQuestions } from './rag/corpus.ts';
import { type Gap, gapOf } from './rag/fault.ts';
import { postJson } from './rag/post-json.ts';
import { knownGrade } from './rag/stand-in-judge.ts';

interface AnsweredQuestion extends DemoQuestion {
  /** Id of the document that answers the question. */
  readonly document: string;
}

export interface AskedQuestion {
  readonly question: AnsweredQuestion;
  readonly sessionId: string;
  /** Position of the question in the session, from 0. */
  readonly turn: number;
  readonly occurredAt: Date;
}

/** The demo's questions, divided into golden queries and questions from users. */
export type DividedQuestions = Awaited<ReturnType<typeof divideQuestions>>;

const GOLDEN = 100;

/** Divides the questions in the same way in every run. @throws RecalldError file_unreadable */
export async function divideQuestions() {
  const [questions, answers] = await Promise.all([readDemoQuestions(), readDemoAnswers()]);
  const answered = questions.map((question) => ({ ...question, document: answers.get(question.id) ?? '' }));
  const others = answered.filter(({ document }) => gapOf(document) !== 'article');
  const golden = drawn(others, GOLDEN, SEED);
  const goldenIds = new Set(golden.map(({ id }) => id));
  const rest = answered.filter(({ id }) => !goldenIds.has(id));
  const aboutGap = (gap: Gap | null) => [
    ...groupBy(
      rest.filter(({ document }) => gapOf(document) === gap),
      ({ document }) => document.split('/')[0],
    ).values(),
  ];
  return {
    golden,
    /** Questions from users, by article; none is in the golden set. */
    live: aboutGap(null),
    /** For each gap, the questions about documents that can be missing, by article; none is in the golden set. */
    missing: { article: aboutGap('article'), answers: aboutGap('answers') },
  };
}

const FOREIGN_DOCUMENT = { id: 'globex/board-minutes-7', score: 0.9, fields: { tenant: 'globex' } };

/** Metadata fields of every document in the store; the search does not return them. */
const PUBLIC_FIELDS = { tenant: PUBLIC };

export type SearchAnswer = Pick<LiveQuery, 'results' | 'latencyMs' | 'error'>;

/** For each gap, the probability that a session asks about documents that can be missing. */
export type MissingShares = Readonly<Record<Gap, number>>;

export const NOTHING_MISSING: MissingShares = { article: 0, answers: 0 };

export type DemoTraffic = ReturnType<typeof createDemoTraffic>;

/** Returns the id of the question from which a simulated live query was made. */
export function questionOf(queryId: string): string {
  return queryId.split('-')[0] ?? '';
}

const SESSIONS_PER_HOUR = 50;
/** Amplitude of the daily traffic cycle, as a share of the mean: traffic varies from 60 % to 140 % of its mean. */
const SWING = 0.4;
/** Probability that a session continues after a question. */
const CONTINUES = 0.25;
const MAX_QUESTIONS = 3;
const SEED = 1;

/**
 * Creates simulated traffic, which is identical in all runs that have the same `firstHour`.
 *
 * @param firstHour hour of the users' day at which the traffic begins; traffic is lowest at hour 0
 */
export function createDemoTraffic(
  questions: DividedQuestions,
  search: (text: string) => Promise<SearchAnswer>,
  firstHour: number,
) {
  const uniform = uniforms(SEED);
  const oneOf = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(uniform() * items.length)];
  let sessions = 0;
  let hours = firstHour;

  const drawArticles = (shares: MissingShares) => {
    const draw = uniform();
    if (draw < shares.article) return questions.missing.article;
    return draw < shares.article + shares.answers ? questions.missing.answers : questions.live;
  };
  const nextSession = (shares: MissingShares) => {
    const article = oneOf(drawArticles(shares)) ?? [];
    let count = 1;
    while (count < MAX_QUESTIONS && uniform() < CONTINUES) count++;
    return {
      id: `session-${++sessions}`,
      questions: Array.from({ length: count }, () => oneOf(article)).flatMap((one) => one ?? []),
    };
  };
  const toLiveQuery = async ({ question, sessionId, turn, occurredAt }: AskedQuestion): Promise<LiveQuery> => ({
    id: `${question.id}-${sessionId}-${turn}`,
    pipeline: PIPELINE,
    occurredAt,
    text: question.text,
    context: null,
    stages: [],
    embedding: null,
    topK: 10,
    sessionId,
    traceId: null,
    episode: null,
    ...(await search(question.text)),
    segments: { tenant: TENANT },
    userId: null,
    versions: { index: null, embedder: null, retriever: null },
    upstreamProbability: 1,
  });
  const nextQuestions = (from: Date, shares: MissingShares): AskedQuestion[] => {
    const swing = 1 - SWING * Math.cos((2 * Math.PI * hours++) / 24);
    const count = Math.round(SESSIONS_PER_HOUR * swing);
    return Array.from({ length: count }, (_, at) => {
      const { id: sessionId, questions: asked } = nextSession(shares);
      const occurredAt = new Date(from.getTime() + Math.floor((at * HOUR_MS) / count));
      return asked.map((question, turn) => ({ question, sessionId, turn, occurredAt }));
    }).flat();
  };

  return {
    nextSession,
    nextQuestions,
    /** @param leaks true if the results of one query contain another tenant's document */
    async nextHour(from: Date, shares: MissingShares, leaks = false): Promise<LiveQuery[]> {
      const [first, ...others] = await Promise.all(nextQuestions(from, shares).map(toLiveQuery));
      if (first === undefined) return others;
      return [leaks ? { ...first, results: [FOREIGN_DOCUMENT, ...first.results] } : first, ...others];
    },
  };
}

/** Returns a function that draws numbers from 0 to 1; its sequence depends only on the seed. */
export function uniforms(seed: number): () => number {
  const fill = createRandom(seed);
  const drawn = new Uint32Array(1);
  return () => {
    fill(drawn);
    return (drawn[0] ?? 0) / 2 ** 32;
  };
}

/** Caches results, because the service returns the same results until its fault or its documents change. */
export function createSearcher(url: string, signal: AbortSignal) {
  const known = new Map<string, Promise<SearchAnswer>>();
  return {
    search: (text: string): Promise<SearchAnswer> => {
      const answer = known.get(text) ?? ask(url, text, signal);
      known.set(text, answer);
      return answer;
    },
    /** Clears the cache; call it after a change to the service. */
    clear: (): void => known.clear(),
  };
}

/**
 * Sends a query to the RAG service. If the service fails, returns a response with an error.
 *
 * @throws `signal.reason` if `signal` aborts
 */
export async function ask(url: string, text: string, signal: AbortSignal): Promise<SearchAnswer> {
  const startedMs = performance.now();
  const answered = await searched(url, text, signal).catch(() => {
    signal.throwIfAborted();
    return { results: [], error: 'unreachable' };
  });
  return { ...answered, latencyMs: performance.now() - startedMs };
}

async function searched(url: string, text: string, signal: AbortSignal) {
  const response = await postJson(`${url}/search`, { query: text, k: 10, with_text: false }, signal);
  const body = (await response.json()) as { results: { id: string; score: number }[] };
  if (!response.ok) return { results: [], error: `http_${response.status}` };
  return { results: body.results.map(({ id, score }) => ({ id, score, fields: PUBLIC_FIELDS })), error: null };
}

const REVIEWER = 'demo';
/** Page size: larger than the number of queries that are selected for human review in an hour. */
const MAX_QUERIES = 100;

/** Sends human judgments to the HTTP API. @throws RecalldError demo_failed; the errors of readDemoAnswers */
export async function addHumanJudgments({ db, url }: SimulatedDaemon, now: Date): Promise<void> {
  const answers = await readDemoAnswers();
  const open = await db.judging.reviews.next({ pipeline: PIPELINE, person: REVIEWER, now }, MAX_QUERIES);
  const judgments = open.flatMap(({ id, documents }) =>
    documents.map((document) => ({
      query_id: id,
      pipeline: PIPELINE,
      document_id: document.id,
      grade: knownGrade(document.id, answers.get(questionOf(id)) ?? ''),
    })),
  );
  if (judgments.length === 0) return;
  const response = await postJson(`${url}/v1/judgments`, judgments);
  if (!response.ok)
    throw new RecalldError('demo_failed', `The daemon rejected the human judgments with status ${response.status}.`);
}
