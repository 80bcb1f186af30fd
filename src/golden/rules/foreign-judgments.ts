/** Converts files from Quepid, Ragas, LlamaIndex and OpenSearch to queries with judgments. */
import { contentId } from '../../core/text/content-id.ts';
import { type Fields, fieldsOf } from '../../core/text/json.ts';
import { malformed, quoted, type SourcePlace } from '../../core/text/source-line.ts';
import { idsOfList, parsePythonList } from './cell-lists.ts';
import { plainName, roleOfColumn } from './column-roles.ts';
import { type ForeignFormat, goldenLimits } from './golden-set.ts';
import type { GoldenSetBuilder } from './golden-set-builder.ts';
import { decimalOf } from './grade-text.ts';
import { binaryGrade } from './table-rows.ts';

export interface Placed {
  readonly value: unknown;
  readonly place: SourcePlace;
}

/** Assigns ids to queries based on their text, because the files of these tools contain no query ids. */
export class QueriesByText {
  readonly builder: GoldenSetBuilder;
  readonly #ids = new Map<string, string>();

  constructor(builder: GoldenSetBuilder) {
    this.builder = builder;
  }

  /** Adds a query unless it is known, and returns its id. @throws RecalldError file_malformed for an invalid text */
  add(text: string, place: SourcePlace, tags: Readonly<Record<string, string>> = {}): string {
    const key = JSON.stringify([text.trim(), tags]);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.builder.addQuery({ id: null, text, tags }, place, 'join');
    this.#ids.set(key, id);
    return id;
  }
}

/** Returns a document id, which may be a string or a number, depending on the tool; null for any other value. */
function idOf(value: unknown): string | null {
  return typeof value === 'string' || Number.isSafeInteger(value) ? String(value) : null;
}

/** Mean grade of several raters, rounded half up; null if there is no rating. */
function gradeOfRaters(ratings: readonly unknown[], place: SourcePlace): number | null {
  const given = ratings.filter((rating) => rating !== null && rating !== undefined && rating !== '');
  const numbers = given.map((rating) => numberOf(rating, place));
  if (numbers.length === 0) return null;
  return Math.round(numbers.reduce((sum, one) => sum + one, 0) / numbers.length);
}

function numberOf(rating: unknown, place: SourcePlace): number {
  const number = typeof rating === 'string' ? decimalOf(rating.trim()) : rating;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  const shown = typeof rating === 'string' ? quoted(rating) : `a ${typeof rating}`;
  throw malformed(place, `has the rating ${shown}, which is not a number; correct it, or choose another --format`);
}

/**
 * Adds a pair of a Quepid book, in the format of Quepid's export and API. A pair without a usable rating adds its query
 * without a judgment.
 *
 * @throws RecalldError file_malformed
 */
export function addQuepidPair({ value, place }: Placed, byText: QueriesByText): void {
  const pair = fieldsOf(value) ?? {};
  const text = pair['query_text'] ?? pair['query'];
  const document = idOf(pair['doc_id']);
  const judgements = pair['judgements'];
  if (typeof text !== 'string' || document === null || !Array.isArray(judgements)) {
    throw malformed(place, 'is not a pair of a Quepid book; a pair has query_text, doc_id and a list of judgements');
  }
  const ratings = judgements.map(fieldsOf).map((one) => (one?.['unrateable'] === true ? null : one?.['rating']));
  addRated(byText, { text, document, ratings }, place);
}

/** Adds a query with a document and its ratings. Unrated documents and empty document ids are counted as warnings. */
export function addRated(
  byText: QueriesByText,
  rated: { readonly text: string; readonly document: string; readonly ratings: readonly unknown[] },
  place: SourcePlace,
): void {
  const { builder } = byText;
  const id = byText.add(rated.text, place);
  const grade = gradeOfRaters(rated.ratings, place);
  if (rated.document.trim() === '') builder.warnings.count('document_empty', place);
  else if (grade === null) builder.warnings.count('grade_missing', place);
  else builder.addJudgment(id, rated.document, grade, place);
}

/** Columns that become tags, so that a run can show the scores for each of their values. */
const ragasTags = ['synthesizer_name', 'evolution_type', 'persona_name', 'query_style', 'query_length'];

/**
 * Adds a row of a Ragas test set. The query is `user_input` (`question` before Ragas 0.2). Each document in
 * `reference_context_ids` answers the query. If the row has no ids, each text in `reference_contexts` (`contexts`
 * before Ragas 0.2) answers the query. A context is identified by its text without the prefix `<1-hop>`, which the
 * contexts of multi-hop queries have.
 *
 * @returns whether a model wrote the query, and whether its documents are identified by ids
 * @throws RecalldError file_malformed for a conversation, a row without a query or without a list of contexts, or
 *   unreadable ids
 */
export function addRagasRow({ value, place }: Placed, byText: QueriesByText) {
  const row = fieldsOf(value) ?? {};
  const text = row['user_input'] ?? row['question'];
  if (Array.isArray(text))
    throw malformed(place, 'is a conversation, but a golden set contains single queries; remove the row');
  if (typeof text !== 'string') throw malformed(place, 'has no user_input, the query of a Ragas test set');
  const ids = idsOf(row['reference_context_ids'], place);
  const documents = ids ?? contextsOf(row, place);
  const tags = ragasTags.flatMap((name) => {
    const tag = row[name];
    const isShort = typeof tag === 'string' && tag.trim() !== '' && tag.length <= goldenLimits.tagValueLength;
    return isShort ? [[name, tag] as const] : [];
  });
  const id = byText.add(text, place, Object.fromEntries(tags));
  for (const document of new Set(documents)) byText.builder.addJudgment(id, document, 1, place);
  return { isGenerated: tags.length > 0, hasIds: ids !== null };
}

/** Returns the ids of the row's documents; null if it has none. */
function idsOf(value: unknown, place: SourcePlace): string[] | null {
  if (value === undefined || value === null || (typeof value === 'string' && /^\s*(nan|none)?\s*$/i.test(value)))
    return null;
  const ids = listOf(value);
  if (ids?.length === 0) return null;
  if (ids !== null && ids.every((id) => typeof id === 'string' || Number.isSafeInteger(id))) return ids.map(String);
  const shown = typeof value === 'string' ? `: ${quoted(value)}` : '';
  throw malformed(
    place,
    `has reference_context_ids that are not a list of ids${shown}; write ["id-1", "id-2"], or leave the column empty to identify documents by their texts`,
  );
}

function contextsOf(row: Fields, place: SourcePlace): string[] {
  const hasContexts = row['reference_contexts'] !== undefined || row['contexts'] !== undefined;
  if (!hasContexts && row['reference_context_ids'] !== undefined) {
    throw malformed(
      place,
      'lists no documents in reference_context_ids; name the documents that answer the query, or remove the row',
    );
  }
  const contexts = listOf(row['reference_contexts'] ?? row['contexts']);
  if (contexts === null || !contexts.every((context) => typeof context === 'string')) {
    throw malformed(
      place,
      'has no list of texts in reference_contexts; save the test set as JSON lines (testset.to_jsonl), which keeps the list',
    );
  }
  return contexts.flatMap((context) => contentId(context.replace(/^\s*<\d+-hop>\s*/, '')) ?? []);
}

function listOf(value: unknown): unknown[] | null {
  if (typeof value === 'string') return parsePythonList(value) ?? idsOfList(value);
  return Array.isArray(value) ? value : null;
}

/** Returns the list of judged queries in a workbench request or response; null if there is none or more than one. */
export function judgedQueriesOf(value: unknown) {
  const answer = fieldsOf(value);
  const hits = fieldsOf(answer?.['hits'])?.['hits'];
  const sources = Array.isArray(hits) ? hits.map((hit) => fieldsOf(fieldsOf(hit)?.['_source'])) : [answer];
  const [source] = sources;
  const ratings = sources.length === 1 ? source?.['judgmentRatings'] : undefined;
  if (!Array.isArray(ratings)) return null;
  return { queries: ratings as readonly unknown[], ofClicks: source?.['type'] === 'UBI_JUDGMENT' };
}

export interface RatedDocument extends Placed {
  readonly text: string;
}

/**
 * Adds ratings. Whole numbers are grades. In judgments that the workbench derived from user behavior, fractions are
 * clicks divided by expected clicks. A document gets grade 0 without clicks, grade 1 with fewer clicks than expected at
 * its ranks, and grade 2 otherwise. Other fractions, such as ratings from a model, require `--relevance-threshold`.
 *
 * @param ofClicks true if the list states that it was derived from user behavior
 * @throws RecalldError file_malformed
 */
export function addUbiRatings(
  rated: readonly RatedDocument[],
  ofClicks: boolean,
  threshold: number | undefined,
  byText: QueriesByText,
): void {
  const { builder } = byText;
  const judged = rated.map(({ text, value, place }) => {
    const { docId, rating } = fieldsOf(value) ?? {};
    if (typeof docId !== 'string')
      throw malformed(place, 'has no docId; a rating is {"docId": "...", "rating": "1.000"}');
    return { text, docId, rating: numberOf(rating, place), place };
  });
  const fraction = judged.find(({ rating }) => !Number.isInteger(rating));
  if (fraction !== undefined && threshold === undefined) {
    if (!ofClicks) {
      throw malformed(
        fraction.place,
        `has the rating ${fraction.rating}, a fraction, and the list is not of type UBI_JUDGMENT; set --relevance-threshold, the minimum rating of a relevant document`,
      );
    }
    builder.warnings.note(
      'Fractional ratings are read as clicks over expected clicks (COEC): 0 becomes grade 0, a rating below 1 becomes grade 1, and a rating of 1 or more becomes grade 2.',
    );
  }
  for (const { text, docId, rating, place } of judged) {
    const clicks = rating >= 1 ? 2 : Math.sign(rating);
    const grade = threshold === undefined ? (fraction === undefined ? rating : clicks) : binaryGrade(rating, threshold);
    builder.addJudgment(byText.add(text, place), docId, grade, place);
  }
}

/** Columns of a Quepid table. A book has one rating column per rater; the detailed export of a case has only one. */
export type QuepidColumns = NonNullable<ReturnType<typeof quepidColumnsOf>>;

/**
 * Matches column names that are not names of raters. A table with such a column is an ordinary table, not a Quepid
 * book.
 */
const noRater = /^(id|.*[ _-]id|query[ _-]?id|rank|pos(ition)?|doc[ _-]?position|page|url|title|year|date|notes?)$/i;

/** Returns null if the header is not from Quepid, which writes `query,docid` and the name of each rater. */
export function quepidColumnsOf(header: readonly string[]) {
  const names = header.map(plainName);
  const [first, second] = header.map((name) =>
    name
      .replace(/^\uFEFF/, '')
      .trim()
      .toLowerCase(),
  );
  if (first === 'query' && second === 'docid' && !header.some((name) => noRater.test(name.trim()))) {
    return { text: 0, document: 1, ratings: names.flatMap((name, index) => (index > 1 && name !== '' ? [index] : [])) };
  }
  const [text, document, rating] = ['querytext', 'docid', 'rating'].map((name) => names.indexOf(name));
  const isDetailed = names.includes('casename') || names.includes('docposition');
  if (!isDetailed || text === undefined || document === undefined || rating === undefined) return null;
  return text < 0 || document < 0 || rating < 0 ? null : { text, document, ratings: [rating] };
}

/** Adds a rated query of a Quepid case, `{"query", "ratings": {"doc": 3}}`. @throws RecalldError file_malformed */
export function addQuepidCaseQuery({ value, place }: Placed, byText: QueriesByText): void {
  const { query, query_text: queryText, ratings } = fieldsOf(value) ?? {};
  const text = query ?? queryText;
  if (typeof text !== 'string') throw malformed(place, 'is not a query of a Quepid case with "query" and "ratings"');
  const rated = Array.isArray(ratings)
    ? ratings.map((one: unknown) => [fieldsOf(one)?.['doc_id'], fieldsOf(one)?.['rating']] as const)
    : Object.entries(fieldsOf(ratings) ?? {});
  byText.add(text, place);
  for (const [document, rating] of rated) {
    addRated(byText, { text, document: idOf(document) ?? '', ratings: [rating] }, place);
  }
}

/**
 * Adds the query groups of an export for the Rated Ranking Evaluator. Each group has `relevant_documents` next to the
 * placeholders of one or more queries.
 *
 * @throws RecalldError file_malformed
 */
export function addRreGroups(value: unknown, placed: (part: unknown) => Placed, byText: QueriesByText): void {
  if (Array.isArray(value)) for (const one of value) addRreGroups(one, placed, byText);
  const group = fieldsOf(value);
  if (group === null) return;
  const relevant = fieldsOf(group['relevant_documents']);
  if (relevant === null) {
    for (const one of Object.values(group)) addRreGroups(one, placed, byText);
    return;
  }
  const { place } = placed(value);
  const members = Array.isArray(group['queries']) ? group['queries'] : [group];
  for (const member of members) {
    const text = textOfPlaceholders(fieldsOf(fieldsOf(member)?.['placeholders']) ?? {});
    if (text === null) {
      throw malformed(
        place,
        'has relevant_documents but no query text in placeholders; add the text to placeholders as "$query"',
      );
    }
    for (const [document, value] of Object.entries(relevant)) {
      const rating = fieldsOf(value);
      if (rating === null) throw malformed(place, 'has relevant_documents in a format other than {"id": {"gain": 2}}');
      addRated(byText, { text, document, ratings: [rating['gain']] }, place);
    }
  }
}

function textOfPlaceholders(placeholders: Fields): string | null {
  const values = Object.values(placeholders);
  const text = placeholders['$query'] ?? (values.length === 1 ? values[0] : null);
  return typeof text === 'string' ? text : null;
}

/**
 * Adds the queries of LlamaIndex's EmbeddingQAFinetuneDataset, each with its relevant nodes.
 *
 * @throws RecalldError file_malformed
 */
export function addLlamaIndexSet({ value, place }: Placed, builder: GoldenSetBuilder): void {
  const { queries, relevant_docs: relevant } = fieldsOf(value) ?? {};
  const [texts, documents] = [fieldsOf(queries), fieldsOf(relevant)];
  if (texts === null || documents === null) {
    throw malformed(
      place,
      'does not have the objects "queries" and "relevant_docs" that EmbeddingQAFinetuneDataset.save_json writes',
    );
  }
  for (const [id, text] of Object.entries(texts)) {
    if (typeof text !== 'string') throw malformed(place, `has a query ${quoted(id)} whose text is not a string`);
    builder.addQuery({ id, text, tags: {} }, place, 'reject');
  }
  for (const [id, list] of Object.entries(documents)) {
    if (!Array.isArray(list)) throw malformed(place, `has no list of nodes for the query ${quoted(id)}`);
    for (const one of list) {
      const document = idOf(one);
      if (document === null) {
        throw malformed(place, `lists a value that is not a node id for the query ${quoted(id)}; write only node ids`);
      }
      builder.addJudgment(id, document, 1, place);
    }
  }
}

/**
 * Detects the format of another tool; returns null if the file does not clearly have the format of a known tool.
 *
 * @param extension with its dot, in lower case
 * @param head the first kilobytes of the file
 * @param names names of the columns, if the file is a table
 */
export function foreignFormatOf(extension: string, head: string, names: readonly string[]): ForeignFormat | null {
  const text = head.replace(/^\uFEFF/, '').trimStart();
  const first = text.slice(0, 1);
  if (extension === '.json' && (first === '{' || first === '[')) {
    if (/"query_doc_pairs"\s*:/.test(text)) return 'quepid';
    if (/"judgmentRatings"\s*:/.test(text)) return 'ubi';
    if (/"queries"\s*:\s*\[/.test(text) && /"(ratings|relevant_documents)"\s*:/.test(text)) return 'quepid';
    if (/"relevant_documents"\s*:/.test(text)) return 'quepid';
    if (/^\{\s*("mode"\s*:\s*"\w*"\s*,\s*)?"(queries|corpus|relevant_docs)"\s*:\s*\{/.test(text)) return 'llamaindex';
    return isRagas(text) ? 'ragas' : null;
  }
  if (extension === '.jsonl' || extension === '.ndjson') return first === '{' && isRagas(text) ? 'ragas' : null;
  if (!['.csv', '.tsv', '.tab'].includes(extension)) return null;
  if (quepidColumnsOf(names) !== null && !isPlainTable(names)) return 'quepid';
  if (names.includes('user_input') && names.includes('reference_contexts')) return 'ragas';
  const isOld = names.includes('question') && names.includes('contexts');
  return isOld && (names.includes('ground_truth') || names.includes('evolution_type')) ? 'ragas' : null;
}

/**
 * True for a table with only columns that recalld knows, because such a table has the same meaning in recalld's own
 * format.
 */
function isPlainTable(names: readonly string[]): boolean {
  return (
    names.length > 2 && names.every((name) => roleOfColumn(name) !== null) && plainName(names[2] ?? '') !== 'rating'
  );
}

/**
 * True for a Ragas test set: it contains `user_input` and a key for reference contexts. `user_input` alone is not
 * sufficient, because a chat record may also have this key.
 */
function isRagas(text: string): boolean {
  return /"user_input"\s*:/.test(text) && /"reference_context(s|_ids)"\s*:/.test(text);
}
