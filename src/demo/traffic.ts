/**
 * People who ask the demo's RAG service, and what: sessions of one to three questions about one article, more by day;
 * and people who grade what was drawn for them, as the known judgments have it.
 */
import type { SimulatedDaemon } from '../app/simulated-daemon.ts';
import { RecalldError } from '../core/errors.ts';
import { HOUR_MS } from '../core/time.ts';
import type { LiveQuery } from '../live/rules/live-query.ts';
import { createRandom, drawn } from '../math/stats/random.ts';
import { PIPELINE } from './demo-config.ts';
import { type DemoQuestion, readDemoAnswers, readDemoQuestions } from './rag/corpus.ts';
import { type Gap, gapOf } from './rag/fault.ts';
import { knownGrade } from './rag/stand-in-judge.ts';

/** The questions of the demo, divided: those with known answers that golden runs ask, and those that people ask. */
interface AnsweredQuestion extends DemoQuestion {
  /** Id of the document that answers it. */
  readonly document: string;
}

export interface DividedQuestions {
  readonly golden: readonly AnsweredQuestion[];
  /** What people ask, by article; none of them is in the golden set. */
  readonly live: readonly (readonly AnsweredQuestion[])[];
  /** About what the store can do without, by article; nobody labelled them. */
  readonly missing: Readonly<Record<Gap, readonly (readonly AnsweredQuestion[])[]>>;
}

const GOLDEN = 100;

/** The same division in every run. @throws RecalldError when the data of the demo cannot be read */
export async function divideQuestions(): Promise<DividedQuestions> {
  const [questions, answers] = await Promise.all([readDemoQuestions(), readDemoAnswers()]);
  const answered = questions.map((question) => ({ ...question, document: answers.get(question.id) ?? '' }));
  const others = answered.filter(({ document }) => gapOf(document) !== 'article');
  const golden = drawn(others, GOLDEN, SEED);
  const labelled = new Set(golden.map(({ id }) => id));
  const unlabelled = answered.filter(({ id }) => !labelled.has(id));
  const aboutGap = (gap: Gap | null) => byArticle(unlabelled.filter(({ document }) => gapOf(document) === gap));
  return { golden, live: aboutGap(null), missing: { article: aboutGap('article'), answers: aboutGap('answers') } };
}

function byArticle(questions: readonly AnsweredQuestion[]): AnsweredQuestion[][] {
  const articles = new Map<string, AnsweredQuestion[]>();
  for (const question of questions) {
    const [article = ''] = question.document.split('/');
    articles.set(article, [...(articles.get(article) ?? []), question]);
  }
  return [...articles.values()];
}

/** What the RAG service answered. */
type SearchAnswer = Pick<LiveQuery, 'results' | 'latencyMs' | 'error'>;

interface DemoTrafficSettings {
  readonly pipeline: string;
  readonly questions: Pick<DividedQuestions, 'live' | 'missing'>;
  readonly search: (text: string) => Promise<SearchAnswer>;
  /** Hour of the day at which it begins; 0 is the quietest, and days repeat before it as after. */
  readonly firstHour: number;
}

/** Chances of a session to be about what the store can do without. */
export type MissingShares = Readonly<Record<Gap, number>>;

export const NOTHING_MISSING: MissingShares = { article: 0, answers: 0 };

export type DemoTraffic = ReturnType<typeof createDemoTraffic>;

/** The question that a live query of this traffic asks, by the id of the query. */
export function questionOf(queryId: string): string {
  return queryId.split('-')[0] ?? '';
}

const SESSIONS_PER_HOUR = 50;
/** How much more than the mean it is at the height of a day, and how much less at night. */
const SWING = 0.4;
/** Chance that a session goes on after a question. */
const GOES_ON = 0.25;
const MAX_QUESTIONS = 3;
const SEED = 1;

/** The same traffic in every run with the same first hour, whatever the time of day. */
export function createDemoTraffic({ pipeline, questions, search, firstHour }: DemoTrafficSettings) {
  const uniform = uniforms();
  const oneOf = <Item>(items: readonly Item[]): Item | undefined => items[Math.floor(uniform() * items.length)];
  let sessions = 0;
  let hours = firstHour;

  const aboutWhat = (shares: MissingShares) => {
    const draw = uniform();
    if (draw < shares.article) return questions.missing.article;
    return draw < shares.article + shares.answers ? questions.missing.answers : questions.live;
  };
  const nextSession = (shares: MissingShares) => {
    const article = oneOf(aboutWhat(shares)) ?? [];
    let count = 1;
    while (count < MAX_QUESTIONS && uniform() < GOES_ON) count++;
    return {
      id: `session-${++sessions}`,
      questions: Array.from({ length: count }, () => oneOf(article)).flatMap((one) => one ?? []),
    };
  };
  const toLiveQuery = async (
    { id, text }: AnsweredQuestion,
    suffix: string,
    sessionId: string,
    occurredAt: Date,
  ): Promise<LiveQuery> => ({
    id: `${id}-${suffix}`,
    pipeline,
    occurredAt,
    text,
    context: null,
    stages: [],
    embedding: null,
    topK: 10,
    sessionId,
    traceId: null,
    ...(await search(text)),
    segments: {},
    userId: null,
    versions: { index: null, embedder: null, retriever: null },
    upstreamProbability: 1,
  });

  return {
    nextSession,
    /** The live queries of the next hour, each with what the search found. */
    nextHour(from: Date, shares: MissingShares): Promise<LiveQuery[]> {
      const swing = 1 - SWING * Math.cos((2 * Math.PI * hours++) / 24);
      const count = Math.round(SESSIONS_PER_HOUR * swing);
      const queries = Array.from({ length: count }, (_, at) => {
        const session = nextSession(shares);
        const occurredAt = new Date(from.getTime() + Math.floor((at * HOUR_MS) / count));
        return session.questions.map((question, turn) =>
          toLiveQuery(question, `${session.id}-${turn}`, session.id, occurredAt),
        );
      });
      return Promise.all(queries.flat());
    },
  };
}

function uniforms(): () => number {
  const fill = createRandom(SEED);
  const drawn = new Uint32Array(1);
  return () => {
    fill(drawn);
    return (drawn[0] ?? 0) / 2 ** 32;
  };
}

/** Remembers what was answered: the service answers the same question alike until something is changed about it. */
export function createSearcher(url: string, signal: AbortSignal) {
  const known = new Map<string, Promise<SearchAnswer>>();
  return {
    search: (text: string): Promise<SearchAnswer> => {
      const answer = known.get(text) ?? ask(url, text, signal);
      known.set(text, answer);
      return answer;
    },
    /** To be called when the service may answer otherwise than before. */
    forget: (): void => known.clear(),
  };
}

/** @throws the reason of `signal`; a service that fails is an answer too */
export async function ask(url: string, text: string, signal: AbortSignal): Promise<SearchAnswer> {
  const startedMs = performance.now();
  const answered = await searched(url, text, signal).catch(() => {
    signal.throwIfAborted();
    return { results: [], error: 'unreachable' };
  });
  return { ...answered, latencyMs: performance.now() - startedMs };
}

async function searched(
  url: string,
  text: string,
  signal: AbortSignal,
): Promise<Pick<SearchAnswer, 'results' | 'error'>> {
  const response = await fetch(`${url}/search`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: text, k: 10, with_text: false }),
    signal,
  });
  const body = (await response.json()) as { results: { id: string; score: number }[] };
  if (!response.ok) return { results: [], error: `http_${response.status}` };
  return { results: body.results.map(({ id, score }) => ({ id, score })), error: null };
}

const PERSON = 'demo';
/** More than are drawn for people in an hour. */
const MAX_QUERIES = 100;

/** By the API, as a program of theirs would. @throws RecalldError demo_failed, and as readDemoAnswers */
export async function gradeAsPeople({ db, url }: SimulatedDaemon, now: Date): Promise<void> {
  const answers = await readDemoAnswers();
  const open = await db.judging.reviews.next(PIPELINE, PERSON, now, MAX_QUERIES);
  const judgments = open.flatMap(({ id, documents }) =>
    documents.map((document) => ({
      query_id: id,
      pipeline: PIPELINE,
      document_id: document.id,
      grade: knownGrade(document.id, answers.get(questionOf(id)) ?? ''),
    })),
  );
  if (judgments.length === 0) return;
  const response = await fetch(`${url}/v1/judgments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(judgments),
  });
  if (!response.ok)
    throw new RecalldError('demo_failed', `Grades of people were refused with status ${response.status}.`);
}
