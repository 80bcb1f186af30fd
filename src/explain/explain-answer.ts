/** Questions and documents as they are asked for, by people and by programs, and what is told of them. */
import type { Config } from '../app/config/schema.ts';
import { RecalldError } from '../errors.ts';
import { findPipeline, type WatchedPipeline } from '../golden/watched-pipeline.ts';
import type { AskedQuestion } from './look-for.ts';
import { type ExplainDeps, type Explained, explainAll, filtersOf, type MissedQuestion, missesOfRun } from './misses.ts';
import { verdicts } from './rules/verdict.ts';

/** Either a question with a document, or a run with or without one of its questions. */
export interface ExplainRequest {
  readonly pipeline?: string | undefined;
  readonly query?: string | undefined;
  readonly tag?: Readonly<Record<string, string>> | undefined;
  readonly k: number;
  readonly run?: string | undefined;
  readonly queryId?: string | undefined;
  readonly document?: string | undefined;
  /** Most questions of a run. */
  readonly limit: number;
}

export interface ExplainAnswer {
  readonly wanted: Wanted;
  readonly explained: readonly Explained[];
}

export interface AnswerRequestDeps extends ExplainDeps {
  readonly config: Config;
  readonly pipelines: readonly WatchedPipeline[];
}

/** @throws RecalldError usage, pipeline_unknown, run_unknown, query_unknown */
export async function answerRequest(
  deps: AnswerRequestDeps,
  request: ExplainRequest,
  signal: AbortSignal,
): Promise<ExplainAnswer> {
  const wanted = await wantedOf(deps, request);
  const pipeline = findPipeline(deps.pipelines, wanted.pipeline);
  const filters = filtersOf(deps.config, wanted.pipeline);
  return { wanted, explained: await explainAll(deps, pipeline, wanted.questions, filters, signal) };
}

export interface Wanted {
  readonly pipeline: string;
  readonly runId: string | null;
  /** Relevant documents that the run missed, in all of its questions. */
  readonly misses: number | null;
  readonly questions: readonly MissedQuestion[];
}

async function wantedOf(deps: ExplainDeps, request: ExplainRequest): Promise<Wanted> {
  const { pipeline, query, run: runId, queryId = null, document = null } = request;
  if (runId !== undefined && query === undefined) {
    const { run, questions, misses } = await missesOfRun(deps, runId, { queryId, document, limit: request.limit });
    if (pipeline !== undefined && pipeline !== run.pipeline)
      throw usage(`The run ${runId} is of the pipeline ${run.pipeline}, not of ${pipeline}; leave --pipeline out.`);
    return { pipeline: run.pipeline, runId, misses, questions };
  }
  if (query === undefined || runId !== undefined)
    throw usage('Give either --query TEXT with --document ID, or --run ID with or without --query-id.');
  if (pipeline === undefined) throw usage('Give --pipeline NAME with --query.');
  if (document === null) throw usage('Give --document ID: the document that should have come back.');
  const question: AskedQuestion = { text: query, tags: request.tag ?? {}, k: request.k };
  return { pipeline, runId: null, misses: null, questions: [{ id: null, question, documents: [document] }] };
}

const usage = (message: string) => new RecalldError('usage', message);

/** The document of one question, or the sum over all that were asked for. */
export function explainAnswerJson({ wanted, explained }: ExplainAnswer, request: ExplainRequest) {
  const [only] = explained;
  return request.document !== undefined && explained.length === 1 && only !== undefined
    ? explainedJson(wanted.pipeline, only)
    : sumJson(wanted, explained);
}

function explainedJson(
  pipeline: string,
  { queryId, question, document, outrankedBy, words: _words, ...explanation }: Explained,
) {
  return { pipeline, query_id: queryId, query: question.text, document, ...explanation, outranked_by: outrankedBy };
}

function sumJson({ pipeline, runId, misses }: Wanted, explained: readonly Explained[]) {
  return {
    pipeline,
    run_id: runId,
    misses,
    explained: explained.length,
    verdicts: verdictCounts(explained),
    documents: explained.map((one) => explainedJson(pipeline, one)),
  };
}

/** How often each verdict was given, the commonest first; of what is outranked, by what. */
export function countsOf(explained: readonly Explained[]): [words: string, count: number][] {
  const counts = new Map<string, number>();
  for (const one of explained) {
    const words = verdictWords(one);
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  return [...counts].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/** `outranked by near duplicates`. */
export function verdictWords({ verdict, outrankedBy }: Pick<Explained, 'verdict' | 'outrankedBy'>): string {
  const by =
    outrankedBy === null
      ? ''
      : ` by ${outrankedBy === 'version' ? 'another version' : outrankedBy === 'language' ? 'another language' : outrankedBy}`;
  return `${verdict}${by}`.replaceAll('_', ' ');
}

function verdictCounts(explained: readonly Explained[]): Record<string, number> {
  const counted = verdicts.map(
    (verdict) => [verdict, explained.filter((one) => one.verdict === verdict).length] as const,
  );
  return Object.fromEntries(counted.filter(([, count]) => count > 0).toSorted((a, b) => b[1] - a[1]));
}
