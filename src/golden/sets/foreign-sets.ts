import { plural } from '../../core/format.ts';
import { fieldsOf } from '../../core/text/json.ts';
import { malformed, type SourceLine } from '../../core/text/source-line.ts';
import type { ColumnReading } from '../rules/column-roles.ts';
import {
  addLlamaIndexSet,
  addQuepidCaseQuery,
  addQuepidPair,
  addRagasRow,
  addRated,
  addRreGroups,
  addUbiRatings,
  judgedQueriesOf,
  type Placed,
  type QuepidColumns,
  QueriesByText,
  quepidColumnsOf,
  type RatedDocument,
} from '../rules/foreign-judgments.ts';
import type { ForeignFormat, GoldenOrigin, ReadGoldenSetOptions } from '../rules/golden-set.ts';
import type { GoldenSetBuilder } from '../rules/golden-set-builder.ts';
import { csvRows } from './csv-rows.ts';
import { jsonRows, wholeJson } from './json-rows.ts';

type Lines = AsyncIterable<readonly SourceLine[]>;

/**
 * Adds the queries and judgments of the file to the builder. Returns the origin of the queries: people (`human`) or a
 * model (`generated`).
 *
 * @throws RecalldError file_unreadable, file_malformed
 */
export async function readForeign(
  format: ForeignFormat,
  lines: Lines,
  path: string,
  builder: GoldenSetBuilder,
  { relevanceThreshold }: ReadGoldenSetOptions,
): Promise<GoldenOrigin> {
  const byText = new QueriesByText(builder);
  const isTable = /\.(csv|tsv|tab|txt)$/i.test(path);
  switch (format) {
    case 'quepid':
      if (isTable) await readQuepidTable(lines, byText);
      else await readQuepidJson(lines, path, byText);
      return 'human';
    case 'ragas': {
      const rows = { generated: 0, ids: 0, texts: 0 };
      for await (const row of isTable ? tableRows(lines) : jsonRows(lines, path)) {
        const { isGenerated, hasIds } = addRagasRow(row, byText);
        if (isGenerated) rows.generated += 1;
        if (hasIds) rows.ids += 1;
        else rows.texts += 1;
      }
      if (rows.ids > 0 && rows.texts > 0) {
        builder.warnings.note(
          `Documents are identified by reference_context_ids in ${plural(rows.ids, 'row')} and by their texts in ${plural(rows.texts, 'row')}, but a retriever returns either ids or texts. Use ids in all rows, or texts in all rows.`,
        );
      }
      return rows.generated > 0 ? 'generated' : 'human';
    }
    case 'ubi':
      await readUbi(lines, path, relevanceThreshold, byText);
      return 'human';
    case 'llamaindex': {
      const { value, placed } = await wholeJson(lines, path);
      addLlamaIndexSet(placed(value), builder);
      return 'human';
    }
  }
}

/** Reads a Quepid table: `query,docid` and one column per rater, or the detailed export of a case. */
async function readQuepidTable(lines: Lines, byText: QueriesByText): Promise<void> {
  let columns: QuepidColumns | null = null;
  // In the export of a case, a query without ratings is a row with one cell.
  for await (const rows of csvRows(lines, true)) {
    for (const { cells, ...place } of rows) {
      if (columns === null) {
        columns = quepidColumnsOf(cells);
        if (columns === null) {
          throw malformed(place, 'is not a Quepid header: expected query, docid and one column per rater');
        }
        byText.builder.columns = readingsOf(cells, columns);
        continue;
      }
      const [text = '', document = ''] = [cells[columns.text], cells[columns.document]];
      if (cells.length === 1) {
        byText.add(text, place);
        continue;
      }
      const ratings = columns.ratings.map((index) => cells[index]);
      addRated(byText, { text, document, ratings }, place);
    }
  }
}

function readingsOf(header: readonly string[], { text, document, ratings }: QuepidColumns): readonly ColumnReading[] {
  return header.map((column, index) => {
    if (index === text) return { column, readAs: 'query', reason: null };
    if (index === document) return { column, readAs: 'document', reason: null };
    const isRating = ratings.includes(index);
    return { column, readAs: isRating ? 'rater' : 'ignored', reason: isRating ? null : 'not used by Quepid ratings' };
  });
}

/** Reads a book with its pairs, the ratings of a case, or an export for the Rated Ranking Evaluator. */
async function readQuepidJson(lines: Lines, path: string, byText: QueriesByText): Promise<void> {
  const { value, placed } = await wholeJson(lines, path);
  const { query_doc_pairs: pairs, queries } = fieldsOf(value) ?? {};
  if (Array.isArray(pairs)) {
    for (const pair of pairs) addQuepidPair(placed(pair), byText);
  } else if (Array.isArray(queries) && queries.some((one) => fieldsOf(one)?.['ratings'] !== undefined)) {
    for (const query of queries) addQuepidCaseQuery(placed(query), byText);
  } else if (JSON.stringify(value).includes('"relevant_documents"')) {
    addRreGroups(value, placed, byText);
  } else {
    throw malformed(
      { file: path, line: 1 },
      'has no query_doc_pairs and no queries with ratings; export the Quepid book with its pairs, or the ratings of the case',
    );
  }
}

async function readUbi(
  lines: Lines,
  path: string,
  threshold: number | undefined,
  byText: QueriesByText,
): Promise<void> {
  const { value, placed } = await wholeJson(lines, path);
  const list = judgedQueriesOf(value);
  if (list === null) {
    throw malformed(
      { file: path, line: 1 },
      'is not a list of judgments with judgmentRatings; save the response of GET _plugins/_search_relevance/judgments/ID',
    );
  }
  const rated = list.queries.flatMap((entry): RatedDocument[] => {
    const { query, ratings } = fieldsOf(entry) ?? {};
    if (typeof query === 'string' && Array.isArray(ratings)) {
      return ratings.map((rating) => ({ text: query, ...placed(rating) }));
    }
    throw malformed(placed(entry).place, 'is not a judged query with "query" and a list of "ratings"');
  });
  addUbiRatings(rated, list.ofClicks, threshold, byText);
}

async function* tableRows(lines: Lines): AsyncGenerator<Placed> {
  let names: readonly string[] | null = null;
  for await (const rows of csvRows(lines)) {
    for (const { cells, ...place } of rows) {
      if (names === null) names = cells.map((name) => name.trim());
      else yield { value: Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])), place };
    }
  }
}
