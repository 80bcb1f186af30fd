/** `recalld golden run --debug`: one question end to end, from the request to its scores. Nothing is stored. */

import { type CommandSettings, withCommandStore, withPipeline } from '../../app/commands/command-store.ts';
import { redactBody } from '../../app/config/inspect.ts';
import { formatTable } from '../../cli/output.ts';
import { RecalldError } from '../../errors.ts';
import { formatMetricKey } from '../../ir/metric-key.ts';
import type { GoldenQuery } from '../../model.ts';
import { type SeenExchange, watchExchanges } from '../../outbound/exchange.ts';
import type { RunSettings } from '../rules/run.ts';
import { scoreQueries } from '../rules/score-run.ts';
import { toQueryAnswer } from '../runs/ask-retriever.ts';
import { latestVersion } from '../runs/start-golden-run.ts';
import { scheduleOf } from '../watched-pipeline.ts';

/** Of a text that a service sent. */
const MAX_TEXT = 2000;

export interface DebuggedQuery {
  readonly query: GoldenQuery;
  /** What was sent to services, and what they answered, in the order of the answers; secrets are left out. */
  readonly exchanges: readonly { readonly request: string; readonly answer: string }[];
  readonly outcome: string;
  readonly error: string | null;
  readonly latency_ms: number | null;
  /** As they were read from the answer, best first, with their grade; null for a document that nobody judged. */
  readonly documents: readonly {
    readonly rank: number;
    readonly id: string;
    readonly score: number | null;
    readonly grade: number | null;
  }[];
  /** Relevant documents that were not found. */
  readonly missed: readonly string[];
  /** By metric key. */
  readonly scores: Readonly<Record<string, number>>;
}

/** @throws RecalldError pipeline_unknown, golden_set_unknown, golden_set_empty, query_unknown */
export function debugQuery(
  settings: CommandSettings,
  { pipeline: name, set, id }: { readonly pipeline: string; readonly set: string; readonly id: string },
): Promise<DebuggedQuery> {
  return withCommandStore(settings, async ({ sets }) => {
    const latest = await latestVersion(sets, set);
    const query = (await sets.queries(set, latest.version)).find((one) => one.id === id);
    if (query === undefined)
      throw new RecalldError(
        'query_unknown',
        `The golden set "${set}" has no query "${id}"; \`recalld golden show ${set}\` tells of it.`,
      );
    return withPipeline(settings, name, async (pipeline) => {
      const run = scheduleOf(pipeline, set).settings;
      const exchanges: DebuggedQuery['exchanges'][number][] = [];
      const k = Math.max(...run.cutoffs);
      const answer = await watchExchanges(
        (seen) => exchanges.push(told(seen)),
        () => pipeline.retriever.retrieve({ text: query.text, k, tags: query.tags }, settings.signal),
      );
      return { exchanges, ...judged(query, toQueryAnswer(query, answer), run) };
    });
  });
}

function judged(
  query: GoldenQuery,
  answer: ReturnType<typeof toQueryAnswer>,
  run: RunSettings,
): Omit<DebuggedQuery, 'exchanges'> {
  const grades = new Map(query.judgments.map(({ documentId, grade }) => [documentId, grade]));
  const found = new Set(answer.documents.map(({ id }) => id));
  const { keys, columns } = scoreQueries([query], [answer], run);
  return {
    query,
    outcome: answer.outcome,
    error: answer.errorMessage,
    latency_ms: answer.latencyMs,
    documents: answer.documents.map(({ id, score }, index) => ({
      rank: index + 1,
      id,
      score: score ?? null,
      grade: grades.get(id) ?? null,
    })),
    missed: [...grades].flatMap(([id, grade]) => (grade >= run.relevanceLevel && !found.has(id) ? [id] : [])),
    scores: Object.fromEntries(keys.map((key, column) => [formatMetricKey(key), columns[column]?.[0] ?? 0] as const)),
  };
}

function told({ method, label, body, result }: SeenExchange): DebuggedQuery['exchanges'][number] {
  return {
    request: `${method} ${label}${body === null ? '' : ` ${short(withoutSecrets(body))}`}`,
    answer:
      result.kind === 'body' ? short(result.text) : result.kind === 'timeout' ? 'no answer in time' : result.message,
  };
}

function withoutSecrets(body: string): string {
  try {
    return JSON.stringify(redactBody(JSON.parse(body)));
  } catch {
    return body;
  }
}

function short(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${text.length} characters)`;
}

export function formatDebuggedQuery(debugged: DebuggedQuery): string {
  const { query, exchanges, outcome, error, latency_ms: latencyMs, documents, missed, scores } = debugged;
  const judgments = query.judgments.map(({ documentId, grade }) => `${documentId} (${grade})`).join(', ');
  return [
    `question   ${query.id}: ${query.text}`,
    `judged     ${judgments}`,
    ...(exchanges.length === 0
      ? ['asked      not over HTTP: the retriever is a command or searches the store itself']
      : exchanges.flatMap(({ request, answer }) => [`asked      ${request}`, `answered   ${answer}`])),
    `outcome    ${outcome}${latencyMs === null ? '' : `, ${Math.round(latencyMs)} ms`}${error === null ? '' : `: ${error}`}`,
    '',
    documents.length === 0
      ? 'No documents were read from the answer.'
      : formatTable(
          ['rank', 'document', 'score', 'grade'],
          documents.map(({ rank, id, score, grade }) => [
            String(rank),
            id,
            score === null ? '' : String(score),
            grade === null ? 'not judged' : String(grade),
          ]),
          2,
        ),
    ...(missed.length === 0 ? [] : [`\nNot found: ${missed.join(', ')}.`]),
    '',
    formatTable(
      ['measure', 'score'],
      Object.entries(scores).map(([key, score]) => [key, score.toFixed(4)]),
      1,
    ),
  ].join('\n');
}
