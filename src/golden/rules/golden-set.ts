/**
 * What a golden set is, who asked its questions, what it may hold, what reading one from files gives, and its bounded
 * slices by the values of tags, which live queries have too.
 */
import { RecalldError } from '../../core/errors.ts';
import type { GoldenQuery } from '../../core/model.ts';
import type { ColumnReading } from './column-roles.ts';
import type { ColumnChoices } from './qrels-form.ts';

const questions: Readonly<Record<GoldenOrigin, string>> = {
  human: 'questions of people',
  generated: 'questions of a model',
};

/** The error for questions that are to join a golden set of the other origin, with which they cannot be compared. */
export function originMismatch(set: string, holds: GoldenOrigin): RecalldError {
  const [has, gets] = [questions[holds], questions[holds === 'human' ? 'generated' : 'human']];
  return new RecalldError(
    'golden_origin_differs',
    `The golden set "${set}" holds ${has}, which are not to be mixed with ${gets}; choose another name with --set.`,
  );
}

/** Lengths are in UTF-16 code units, as JavaScript counts them. */
export const goldenLimits = {
  idLength: 1024,
  textLength: 100_000,
  tags: 32,
  tagKeyLength: 64,
  tagValueLength: 256,
  /** Of one query. */
  forbidden: 1000,
  /** Above it the exponential gain 2^grade - 1 comes near the largest double. */
  grade: 1000,
} as const;

const controlCharacter = /\p{Cc}/u;
/** In `u` mode a paired surrogate is one character, so this finds only halves, which UTF-8 cannot carry. */
const loneSurrogate = /\p{Cs}/u;

/** Checks an id that is already trimmed; `what` is `query id` or `document id`. */
export function idProblem(what: string, id: string): string | null {
  if (id === '') return `has an empty ${what}; write the ${what}`;
  if (id.length > goldenLimits.idLength) {
    return `has a ${what} of ${id.length} characters; use at most ${goldenLimits.idLength}`;
  }
  return stringProblem(`a ${what}`, id);
}

/** Checks a trimmed id, or the beginning of ids with a `*` behind it, that a query must never bring. */
export function forbiddenProblem(pattern: string): string | null {
  if (/^\*+$/.test(pattern)) return 'forbids every document; write an id, or a beginning of ids before the *';
  return idProblem('forbidden document id', pattern);
}

/** Those that have a judgment and so a score; the others have no answer, or are asked for their forbidden documents alone. */
export function judgedQueries(queries: readonly GoldenQuery[]): readonly GoldenQuery[] {
  return queries.every(({ judgments }) => judgments.length > 0)
    ? queries
    : queries.filter(({ judgments }) => judgments.length > 0);
}

/** Checks the text of a query that is already trimmed. Line breaks and tabs are allowed, NUL is not. */
export function textProblem(text: string): string | null {
  if (text === '') return 'has an empty question; write the question or remove the line';
  if (text.length > goldenLimits.textLength) {
    return `has a question of ${text.length} characters; use at most ${goldenLimits.textLength}`;
  }
  if (text.includes('\0')) return 'has a NUL character in its question; remove it';
  return loneSurrogate.test(text) ? 'has half of a surrogate pair in its question; remove it' : null;
}

/** Checks the name of a tag. `=` is refused because a segment is written `key=value`. */
export function tagKeyProblem(key: string): string | null {
  if (key === '') return 'has a tag without a name; name it';
  if (key.length > goldenLimits.tagKeyLength) {
    return `has a tag name of ${key.length} characters; use at most ${goldenLimits.tagKeyLength}`;
  }
  if (key.includes('=')) return `has "=" in the tag name ${JSON.stringify(key)}; rename the tag`;
  return stringProblem('a tag name', key);
}

/** Checks the value of the tag `key`. */
export function tagValueProblem(key: string, value: string): string | null {
  if (value.length > goldenLimits.tagValueLength) {
    const most = goldenLimits.tagValueLength;
    return `has a value of ${value.length} characters in the tag ${key}; use at most ${most} or remove the tag`;
  }
  return stringProblem(`the value of the tag ${key}`, value);
}

/** Checks a grade; a negative one is legal in a file and means unjudged. */
export function gradeProblem(grade: number): string | null {
  if (!Number.isSafeInteger(grade)) return 'has a grade that is not a whole number; use 0, 1, 2, ...';
  return grade > goldenLimits.grade ? `has the grade ${grade}; use at most ${goldenLimits.grade}` : null;
}

function stringProblem(what: string, value: string): string | null {
  if (controlCharacter.test(value)) return `has a control character or a line break in ${what}; remove it`;
  return loneSurrogate.test(value) ? `has half of a surrogate pair in ${what}; remove it` : null;
}

/** Who asks the questions of a set, people or a model that was shown chunks; the two are never mixed. */
export type GoldenOrigin = 'human' | 'generated';

export interface GoldenSetVersion {
  readonly name: string;
  readonly version: number;
  readonly contentHash: string;
  readonly format: string;
  readonly importedAt: Date;
  readonly queries: number;
  readonly judgments: number;
  readonly origin: GoldenOrigin;
  /** How a version came about that was not imported from a file of queries, one sentence. */
  readonly note: string | null;
}

/** Where a query comes from that no person wrote into a file. */
export interface QueryOrigin {
  readonly queryId: string;
  readonly kind: 'live' | 'generated';
  readonly pipeline: string;
  /** Hash of the id of the live query whose text it is, as erasures know it; null for generated ones. */
  readonly liveQueryHash: string | null;
  readonly userHash: string | null;
  readonly askedAt: Date | null;
  /** What else is worth keeping; no text of a live query. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface NewGoldenSet {
  readonly name: string;
  readonly contentHash: string;
  readonly format: string;
  readonly queries: readonly GoldenQuery[];
  /** Left out: `human`. */
  readonly origin?: GoldenOrigin;
  readonly note?: string;
  /** What the audit log calls it; left out: an import. */
  readonly act?: 'import_golden_set' | 'accept_labels';
  /** Of queries that no person wrote; those that the set knows already need not be given again. */
  readonly origins?: readonly QueryOrigin[];
}

/** What stands in old versions in the place of a text that was erased. */
export const ERASED_TEXT = '[erased]';

/** Queries by their ids, or by their places in the import: `from` is the first, from 0, and `to` the one behind the last. */
export type QuerySelection = { readonly ids: readonly string[] } | { readonly from: number; readonly to: number };

/** `questions`: one a line, without judgments; asked for the stability of their answers alone. */
export const goldenFormats = ['beir', 'trec', 'csv', 'jsonl', 'questions'] as const;

export type GoldenFormat = (typeof goldenFormats)[number];

/** What others write, and recalld reads alone. `ubi`: judgments of OpenSearch's Search Relevance Workbench. */
export const foreignFormats = ['quepid', 'ragas', 'ubi', 'llamaindex'] as const;

export type ForeignFormat = (typeof foreignFormats)[number];

export interface ReadGoldenSetOptions {
  /** `auto` looks at the names in the folder, or at the extension and the beginning of the file. */
  readonly format: 'auto' | GoldenFormat | ForeignFormat;
  /** CSV alone: every row is a query of its own, also when question and tags repeat. */
  readonly rowsAsQueries: boolean;
  /** BEIR and TREC: the queries, where they are not found by name. */
  readonly queriesPath?: string;
  /** BEIR and TREC: the judgments, where they are not found by name. */
  readonly qrelsPath?: string;
  /** Tables: the columns that the user named. */
  readonly columns?: ColumnChoices;
  /** From which grade on a document is relevant, with grade 1, so that grades may be fractions. */
  readonly relevanceThreshold?: number;
  /** Tables: what parts the documents of a cell. */
  readonly documentsSeparator?: string;
  /** Leaves out judgments of a document that has the id of its query. */
  readonly skipOwnDocument?: boolean;
}

/** What was read, for people to see that it is what they meant. */
export interface ImportSummary {
  /** How each column was read, in their order; empty for what has no columns. */
  readonly columns: readonly ColumnReading[];
  /** How many judgments each grade has. */
  readonly judgmentsByGrade: Readonly<Record<string, number>>;
  /** Different judged documents. */
  readonly documents: number;
  /** How many queries each tag has. */
  readonly tags: Readonly<Record<string, number>>;
  /** Rows, queries and judgments of the file that are not in the set, by reason. */
  readonly leftOut: readonly { readonly reason: string; readonly count: number; readonly first: string }[];
}

export interface GoldenSetFile {
  readonly format: GoldenFormat | ForeignFormat;
  readonly origin: GoldenOrigin;
  /** In the order of the file, as are their judgments; each has a judgment, a forbidden document or no answer, but where questions alone were read. */
  readonly queries: readonly GoldenQuery[];
  /** SHA-256, hex: equal if and only if the same bytes were read in the same roles with the same meaning. */
  readonly contentHash: string;
  /** What was left out, merged or looks wrong, one sentence each. */
  readonly warnings: readonly string[];
  readonly counts: { readonly queries: number; readonly judgments: number };
  readonly summary: ImportSummary;
}

/** A query as a file states it: not yet trimmed, checked or given an id. */
export interface QueryDraft {
  /** Null when the file gives none; the id is then derived from the question and its tags. */
  readonly id: string | null;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface JudgmentDraft {
  readonly documentId: string;
  readonly grade: number;
}

/** One line of the JSONL form. */
export interface GoldenLine extends QueryDraft {
  readonly judgments: readonly JudgmentDraft[];
  readonly forbidden: readonly string[];
  readonly noAnswer: boolean;
}

/** `problem` completes the sentence `Line 3 of FILE ...`. */
export type GoldenLineResult =
  | { readonly ok: true; readonly line: GoldenLine }
  | { readonly ok: false; readonly problem: string };

/** The segment of what is measured of one golden set, beside its own runs. */
const PREFIX = 'golden_set=';

export function goldenSegment(set: string): string {
  return `${PREFIX}${set}`;
}

/** The golden set that a segment names; null for a segment of traffic. */
export function goldenSetOf(segment: string): string | null {
  return segment.startsWith(PREFIX) ? segment.slice(PREFIX.length) : null;
}

/** Holds what did not fit under the cap. */
export const OTHER_SEGMENT = 'other';

export interface Segment {
  /** `key=value`, or `other`. */
  readonly name: string;
  /** Indices into the queries. */
  readonly members: readonly number[];
}

/**
 * One segment per value of each key. When there are more than `max`, the largest stay (ties by name) and the queries
 * of the rest form `other`. Queries without the tag are in no segment of that key.
 */
export function groupBySegment(
  queries: readonly { readonly tags: Readonly<Record<string, string>> }[],
  keys: readonly string[],
  max: number,
): { readonly segments: readonly Segment[]; readonly overflow: number } {
  const groups = new Map<string, number[]>();
  for (const [index, query] of queries.entries()) {
    for (const key of keys) {
      const value = query.tags[key];
      if (value === undefined) continue;
      const name = `${key}=${value}`;
      const members = groups.get(name);
      if (members === undefined) groups.set(name, [index]);
      else members.push(index);
    }
  }
  const ordered = [...groups]
    .map(([name, members]) => ({ name, members }))
    .toSorted((a, b) => b.members.length - a.members.length || (a.name < b.name ? -1 : 1));
  if (ordered.length <= max) return { segments: ordered, overflow: 0 };
  const folded = ordered.slice(max);
  const rest = [...new Set(folded.flatMap((segment) => segment.members))].toSorted((a, b) => a - b);
  return {
    segments: [...ordered.slice(0, max), { name: OTHER_SEGMENT, members: rest }],
    overflow: folded.length,
  };
}
