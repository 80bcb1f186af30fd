/**
 * Review files, which contain one query per line. A person edits the file, and `golden import --format review` imports
 * it.
 */

import { z } from 'zod';
import type { Config } from '../../app/config/schema.ts';
import { RecalldError } from '../../core/errors.ts';
import { plural } from '../../core/format.ts';
import { toDocument } from '../../core/text/names.ts';
import { malformed, parseJson, type SourceLine } from '../../core/text/source-line.ts';
import { DAY_MS } from '../../core/time.ts';
import type { GoldenOrigin } from '../rules/golden-set.ts';
import { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import type { GoldenSets } from '../sql/golden-sets.ts';
import { eachLine, type ImportReport, SourceFiles, sha256 } from './import-golden-set.ts';

const judgmentSchema = z
  .looseObject({
    document_id: z.string(),
    grade: z
      .int({ error: 'must be a whole number, or null to leave the document unjudged' })
      .nullable()
      .describe('Grade; null means unjudged.'),
  })
  .transform(({ document_id: documentId, grade }) => ({ documentId, grade }));

const originSchema = z
  .strictObject({
    kind: z.enum(['live', 'generated']),
    pipeline: z.string(),
    live_query_hash: z.string().nullable().default(null),
    user_hash: z.string().nullable().default(null),
    asked_at: z.iso.datetime().nullable().default(null),
    details: z.record(z.string(), z.unknown()).default({}),
  })
  .transform(({ live_query_hash: liveQueryHash, user_hash: userHash, asked_at: askedAt, ...origin }) => ({
    ...origin,
    liveQueryHash,
    userHash,
    askedAt: askedAt === null ? null : new Date(askedAt),
  }));

const reviewLineSchema = z
  .object({
    keep: z.boolean({ error: 'must be true or false' }),
    id: z.string(),
    text: z.string(),
    tags: z.record(z.string(), z.string()).default({}),
    judgments: z.array(judgmentSchema),
    no_answer: z
      .boolean({ error: 'must be true or false' })
      .default(false)
      .describe('True if no document answers the query.'),
    origin: originSchema,
  })
  .transform(({ no_answer: noAnswer, ...item }) => ({ ...item, noAnswer }));

type ReviewItem = z.output<typeof reviewLineSchema>;

function parseReviewLine(line: SourceLine): ReviewItem {
  const result = reviewLineSchema.safeParse(parseJson(line));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const field = issue?.path.join('.') ?? '';
  const problem = field === '' ? 'is not a query of a review file' : `has a bad "${field}": ${issue?.message}`;
  throw malformed(line, `${problem}; keep the format in which golden promote or golden generate wrote the line`);
}

/** Formats a line of a review file. `notes` are for the reviewer; the import ignores them. */
export function reviewLine(
  item: ReviewItem,
  notes: Readonly<Record<string, unknown>>,
  judgmentNotes: (documentId: string) => Readonly<Record<string, string | number | null>>,
): string {
  const { judgments, noAnswer, origin, ...query } = item;
  return JSON.stringify({
    ...query,
    ...notes,
    judgments: judgments.map(({ documentId: id, grade }) => ({ document_id: id, grade, ...judgmentNotes(id) })),
    no_answer: noAnswer,
    origin: toDocument(origin),
  });
}

/**
 * Adds a version of the set: the queries of the latest version plus the queries with `keep: true`, which replace
 * existing queries with the same id. Documents with a null grade stay unjudged. Excludes queries that were erased since
 * the file was written. Also excludes new live queries that were asked before the retention period, because recalld no
 * longer knows whether they were erased.
 *
 * @throws RecalldError file_unreadable, file_malformed, golden_set_empty, golden_origin_differs
 */
export async function importReview(
  { pipelines }: Config,
  sets: GoldenSets,
  path: string,
  name: string,
  signal: AbortSignal,
): Promise<ImportReport> {
  const builder = new GoldenSetBuilder(sha256);
  const kept: ReviewItem[] = [];
  const now = new Date();
  const retentionDays = Math.max(1, ...pipelines.map(({ privacy }) => privacy.retention_days));
  const oldest = new Date(now.getTime() - retentionDays * DAY_MS);
  const known = new Set((await sets.origins(name)).map(({ queryId }) => queryId));
  let refused = 0;
  let old = 0;
  await eachLine(new SourceFiles(signal).lines(path, 'lines'), (line) => {
    const item = parseReviewLine(line);
    if (!item.keep) {
      refused += 1;
      return;
    }
    const { kind, askedAt } = item.origin;
    if (kind === 'live' && !known.has(item.id) && askedAt !== null && askedAt < oldest) {
      old += 1;
      return;
    }
    kept.push(item);
    const id = builder.addQuery(item, line, 'reject');
    for (const { documentId, grade } of item.judgments) {
      if (grade !== null) builder.addJudgment(id, documentId, grade, line);
    }
    if (item.noAnswer) builder.addNoAnswer(id, line);
  });
  const { queries, warnings, summary } = builder.finish(path);
  const latest = await sets.latest(name);
  const before = latest === null ? [] : await sets.queries(name, latest.version);
  const reviewed = new Map(queries.map((query) => [query.id, query]));
  const merged = [
    ...before.map((query) => reviewed.get(query.id) ?? query),
    ...queries.filter(({ id }) => !before.some((query) => query.id === id)),
  ];
  const report = await sets.add(
    {
      name,
      contentHash: sha256(JSON.stringify(['review', merged])),
      format: 'review',
      origin: originOf(kept, path),
      note: `${plural(queries.length, 'reviewed query', 'reviewed queries')} added to ${latest === null ? 'a new set' : `version ${latest.version}`}.`,
      queries: merged,
      origins: kept.flatMap(({ id, origin }) => (reviewed.has(id) ? [{ queryId: id, ...origin }] : [])),
    },
    now,
    signal,
  );
  const lost = merged.length - report.set.queries;
  return {
    ...report,
    summary,
    warnings: [
      refused > 0 && `Skipped because keep is false: ${plural(refused, 'query', 'queries')}.`,
      old > 0 &&
        `Skipped because they are older than ${retentionDays} days and may have been erased: ${plural(old, 'query', 'queries')}.`,
      report.created && lost > 0 && `Skipped because they were erased on request: ${plural(lost, 'query', 'queries')}.`,
      ...warnings,
    ].filter((sentence) => sentence !== false),
  };
}

function originOf(items: readonly ReviewItem[], path: string): GoldenOrigin {
  const kinds = new Set(items.map(({ origin }) => origin.kind));
  if (kinds.size > 1) {
    throw new RecalldError(
      'golden_origin_differs',
      `${path} mixes queries from people and from a model, which must stay separate. Split the file and import two sets.`,
    );
  }
  return kinds.has('generated') ? 'generated' : 'human';
}
