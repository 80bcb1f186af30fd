/** A review file that a person edited -> the next version of a golden set. */
import { RecalldError } from '../../errors.ts';
import { eachLine, SourceFiles, sha256 } from '../../golden/files/source-files.ts';
import type { GoldenOrigin, QueryOrigin } from '../../golden/rules/golden-set.ts';
import { GoldenSetBuilder } from '../../golden/rules/golden-set-builder.ts';
import type { ReviewItem } from '../../golden/rules/review.ts';
import { parseReviewLine } from '../../golden/schema/golden-review.ts';
import type { GoldenSets } from '../../golden/sql/golden-sets.ts';
import { malformed, parseJson } from '../../text/source-line.ts';
import { DAY_MS } from '../../time.ts';
import type { Config } from '../config/schema.ts';
import type { ImportReport } from './golden-import.ts';

/**
 * Adds the questions with `keep: true` to the latest version of the set; one that is there already is replaced.
 * Documents with the grade null count as unjudged. What was erased since the file was written stays out, and so does what
 * was asked so long ago that nobody remembers whether it was.
 *
 * @throws RecalldError file_unreadable, file_malformed, golden_set_empty, golden_origin_differs
 */
export async function importReview(
  { pipelines }: Pick<Config, 'pipelines'>,
  sets: GoldenSets,
  path: string,
  name: string,
): Promise<ImportReport> {
  const builder = new GoldenSetBuilder(sha256);
  const kept: ReviewItem[] = [];
  const now = new Date();
  const retentionDays = Math.max(1, ...pipelines.map(({ privacy }) => privacy.retention_days));
  const oldest = new Date(now.getTime() - retentionDays * DAY_MS);
  const known = new Set((await sets.origins(name)).map(({ queryId }) => queryId));
  let refused = 0;
  let old = 0;
  await eachLine(new SourceFiles().lines(path, 'lines'), (line) => {
    const result = parseReviewLine(parseJson(line));
    if (!result.ok) throw malformed(line, result.problem);
    const { item } = result;
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
  });
  const { queries, warnings } = builder.finish(path);
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
      note: `${queries.length} reviewed questions joined ${latest === null ? 'a new set' : `version ${latest.version}`}.`,
      queries: merged,
      origins: originsOf(kept.filter(({ id }) => reviewed.has(id))),
    },
    now,
  );
  const lost = merged.length - report.set.queries;
  return {
    ...report,
    warnings: [
      ...(refused > 0 ? [`Questions left out because they are not to be kept: ${refused}.`] : []),
      ...(old > 0
        ? [
            `Questions left out because they were asked more than ${retentionDays} days ago, and erasures are not remembered for longer: ${old}.`,
          ]
        : []),
      ...(report.created && lost > 0
        ? [`Questions left out because they were erased on request: ${lost}.`]
        : []),
      ...warnings,
    ],
  };
}

function originOf(items: readonly ReviewItem[], path: string): GoldenOrigin {
  const kinds = new Set(items.map(({ origin }) => origin.kind));
  if (kinds.size > 1) {
    throw new RecalldError(
      'golden_origin_differs',
      `${path} holds questions of people and of a model, which are not to be mixed; import them as two files into two sets.`,
    );
  }
  return kinds.has('generated') ? 'generated' : 'human';
}

function originsOf(items: readonly ReviewItem[]): QueryOrigin[] {
  return items.map(({ id, origin }) => ({ queryId: id, ...origin }));
}
