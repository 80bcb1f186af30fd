/** What Quepid, Ragas and OpenSearch's Search Relevance Workbench write, as questions with judged documents. */
import { contentId } from '../../text/content-id.ts';
import { malformed, quoted, type SourcePlace } from '../../text/source-line.ts';
import { type ForeignFormat, goldenLimits } from './golden-set.ts';
import type { GoldenSetBuilder } from './golden-set-builder.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A value of a file, and where it stands. */
export interface Placed {
  readonly value: unknown;
  readonly place: SourcePlace;
}

export function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
}

/** Questions by their text, since these programs give them no id. */
export class QuestionsByText {
  readonly #builder: GoldenSetBuilder;
  readonly #ids = new Map<string, string>();

  constructor(builder: GoldenSetBuilder) {
    this.#builder = builder;
  }

  /** The id of the question. @throws RecalldError file_malformed for a text that can be none */
  add(text: string, place: SourcePlace, tags: Readonly<Record<string, string>> = {}): string {
    const key = JSON.stringify([text.trim(), tags]);
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    const id = this.#builder.addQuery({ id: null, text, tags }, place, 'join');
    this.#ids.set(key, id);
    return id;
  }
}

/**
 * The grade that several raters give: the mean, rounded, a half upwards.
 * @throws RecalldError file_malformed for a rating that is no number
 */
function gradeOfRaters(ratings: readonly unknown[], place: SourcePlace): number | null {
  const given = ratings.filter((rating) => rating !== null && rating !== undefined && rating !== '');
  const numbers = given.map((rating) => numberOf(rating, place));
  if (numbers.length === 0) return null;
  return Math.round(numbers.reduce((sum, one) => sum + one, 0) / numbers.length);
}

function numberOf(rating: unknown, place: SourcePlace): number {
  const number = typeof rating === 'string' && rating.trim() !== '' ? Number(rating) : rating;
  if (typeof number === 'number' && Number.isFinite(number)) return number;
  const shown = typeof rating === 'string' ? quoted(rating) : `a ${typeof rating}`;
  throw malformed(place, `has the rating ${shown}, which is not a number; mend it, or choose another --format`);
}

/** A pair of a Quepid book as its export and its API have it; one without a rating that counts adds nothing. */
export function addQuepidPair({ value, place }: Placed, questions: QuestionsByText, builder: GoldenSetBuilder): void {
  const pair = fieldsOf(value) ?? {};
  const text = pair['query_text'] ?? pair['query'];
  const document = pair['doc_id'];
  const judgements = pair['judgements'];
  if (typeof text !== 'string' || typeof document !== 'string' || !Array.isArray(judgements)) {
    throw malformed(place, 'is not a pair of a Quepid book; it has query_text, doc_id and a list of judgements');
  }
  const ratings = judgements.map(fieldsOf).map((one) => (one?.['unrateable'] === true ? null : one?.['rating']));
  addRated(questions, builder, { text, document, ratings }, place);
}

/** A question with a document and what each rater said of it. */
export function addRated(
  questions: QuestionsByText,
  builder: GoldenSetBuilder,
  rated: { readonly text: string; readonly document: string; readonly ratings: readonly unknown[] },
  place: SourcePlace,
): void {
  const id = questions.add(rated.text, place);
  const grade = gradeOfRaters(rated.ratings, place);
  if (grade !== null && rated.document.trim() !== '') builder.addJudgment(id, rated.document, grade, place);
}

/** Which of its columns become tags, so that a run tells them apart. */
const ragasTags = ['synthesizer_name', 'evolution_type', 'persona_name', 'query_style', 'query_length'];

/**
 * A row of a Ragas test set: `user_input` (before 0.2 `question`) with `reference_context_ids`, else `reference_contexts` (before
 * 0.2 `contexts`), each of which answers it. A context is called by its text, without the `<1-hop>` that questions over
 * several contexts put before it.
 *
 * @returns whether a model made the question
 * @throws RecalldError file_malformed for a conversation, or a row without a question or a list of contexts
 */
export function addRagasRow({ value, place }: Placed, questions: QuestionsByText, builder: GoldenSetBuilder): boolean {
  const row = fieldsOf(value) ?? {};
  const text = row['user_input'] ?? row['question'];
  if (Array.isArray(text))
    throw malformed(place, 'is a conversation; a golden set holds single questions, leave it out');
  if (typeof text !== 'string') throw malformed(place, 'has no user_input, which is the question of a Ragas test set');
  const documents = idsOf(row['reference_context_ids'], place) ?? contextsOf(row, place);
  const tags = ragasTags.flatMap((name) => {
    const tag = row[name];
    const isShort = typeof tag === 'string' && tag.trim() !== '' && tag.length <= goldenLimits.tagValueLength;
    return isShort ? [[name, tag] as const] : [];
  });
  const id = questions.add(text, place, Object.fromEntries(tags));
  for (const document of new Set(documents)) builder.addJudgment(id, document, 1, place);
  return tags.length > 0;
}

function idsOf(value: unknown, place: SourcePlace): string[] | null {
  const ids = listOf(value);
  if (ids === null || ids.length === 0) return null;
  return ids.map((id) => {
    if (typeof id === 'string' || Number.isSafeInteger(id)) return String(id);
    throw malformed(place, 'has a reference_context_ids that is no list of ids');
  });
}

function contextsOf(row: Fields, place: SourcePlace): string[] {
  const contexts = listOf(row['reference_contexts'] ?? row['contexts']);
  if (contexts === null || !contexts.every((context) => typeof context === 'string')) {
    throw malformed(
      place,
      'has no list of texts under reference_contexts; save the test set as JSON lines (testset.to_jsonl), which keeps it',
    );
  }
  return contexts.flatMap((context) => contentId(context.replace(/^\s*<\d+-hop>\s*/, '')) ?? []);
}

function listOf(value: unknown): unknown[] | null {
  if (typeof value === 'string') return parsePythonList(value);
  return Array.isArray(value) ? value : null;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\', "'": "'", '"': '"' };

/**
 * A list of strings and whole numbers as Python's repr writes it, which is what pandas puts into a cell of a CSV file.
 *
 * @returns null for anything else, such as an array of NumPy
 */
export function parsePythonList(text: string): (string | number)[] | null {
  const token = /\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?\d{1,15}))\s*(,|$)/sy;
  const inner = /^\s*\[(.*)\]\s*$/s.exec(text)?.[1];
  if (inner === undefined) return null;
  const items: (string | number)[] = [];
  while (token.lastIndex < inner.length && inner.slice(token.lastIndex).trim() !== '') {
    const match = token.exec(inner);
    if (match === null) return null;
    const [, single, double, number] = match;
    items.push(number === undefined ? unescapePython(single ?? double ?? '') : Number(number));
  }
  return items;
}

function unescapePython(text: string): string {
  return text.replaceAll(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/gs,
    (whole, x, u, long, other) => {
      const hex = x ?? u ?? long;
      if (hex !== undefined) {
        const code = Number.parseInt(hex, 16);
        return code > 0x10ffff ? whole : String.fromCodePoint(code);
      }
      return escapes[other] ?? whole;
    },
  );
}

/** The list of judged queries in an answer or a request of the workbench; null where there is none, or more than one. */
export function judgedQueriesOf(value: unknown): readonly unknown[] | null {
  const answer = fieldsOf(value);
  const hits = fieldsOf(answer?.['hits'])?.['hits'];
  const sources = Array.isArray(hits) ? hits.map((hit) => fieldsOf(fieldsOf(hit)?.['_source'])) : [answer];
  const [source] = sources;
  const ratings = sources.length === 1 ? source?.['judgmentRatings'] : undefined;
  return Array.isArray(ratings) ? ratings : null;
}

export interface RatedDocument extends Placed {
  readonly text: string;
}

/**
 * Adds ratings. Where all are whole numbers they are grades. Where one has a fraction they are clicks over expected clicks, as
 * the workbench makes them of user behaviour: 0 is not relevant, a document with clicks has grade 1, and one that is clicked at
 * least as often as its ranks let expect has grade 2.
 *
 * @throws RecalldError file_malformed
 */
export function addUbiRatings(
  rated: readonly RatedDocument[],
  questions: QuestionsByText,
  builder: GoldenSetBuilder,
): void {
  const judged = rated.map(({ text, value, place }) => {
    const { docId, rating } = fieldsOf(value) ?? {};
    if (typeof docId !== 'string')
      throw malformed(place, 'has no docId; a rating is {"docId": "...", "rating": "1.000"}');
    return { text, docId, rating: numberOf(rating, place), place };
  });
  const isWhole = judged.every(({ rating }) => Number.isInteger(rating));
  if (!isWhole) {
    builder.warnings.note(
      'Ratings with fractions are taken for clicks over expected clicks: 0 has grade 0, below 1 grade 1, from 1 on grade 2.',
    );
  }
  for (const { text, docId, rating, place } of judged) {
    const ofClicks = rating >= 1 ? 2 : Math.sign(rating);
    builder.addJudgment(questions.add(text, place), docId, isWhole ? rating : ofClicks, place);
  }
}

/**
 * @param extension with its dot, in small letters
 * @param head some kilobytes from the beginning of the file
 * @returns null for a file that is not plainly of one of them
 */
export function foreignFormatOf(extension: string, head: string): ForeignFormat | null {
  const text = head.replace(/^\uFEFF/, '').trimStart();
  const first = text.slice(0, 1);
  if (extension === '.json' && (first === '{' || first === '[')) {
    if (/"query_doc_pairs"\s*:/.test(text)) return 'quepid';
    if (/"judgmentRatings"\s*:/.test(text)) return 'ubi';
    return isRagas(text) ? 'ragas' : null;
  }
  if (extension === '.jsonl' || extension === '.ndjson') return first === '{' && isRagas(text) ? 'ragas' : null;
  if (extension !== '.csv') return null;
  const names = (/^[^\r\n]*/.exec(text)?.[0] ?? '').split(',').map((name) => name.trim().replaceAll('"', ''));
  if (names[0] === 'query' && names[1] === 'docid') return 'quepid';
  return names.includes('user_input') && names.includes('reference_contexts') ? 'ragas' : null;
}

/** Both, since a record of a chat may have a `user_input` too. */
function isRagas(text: string): boolean {
  return /"user_input"\s*:/.test(text) && /"reference_context(s|_ids)"\s*:/.test(text);
}
