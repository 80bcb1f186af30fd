/** What reading a golden set from files gives, and the choices a reader is given. */
import type { GoldenQuery } from '../../model.ts';

export const goldenFormats = ['beir', 'trec', 'csv', 'jsonl'] as const;

export type GoldenFormat = (typeof goldenFormats)[number];

export interface ReadGoldenSetOptions {
  /** `auto` looks at the names in the folder, or at the extension of the file. */
  readonly format: 'auto' | GoldenFormat;
  /** CSV alone: every row is a query of its own, also when question and tags repeat. */
  readonly rowsAsQueries: boolean;
  /** BEIR and TREC: the queries, where they are not found by name. */
  readonly queriesPath?: string;
  /** BEIR and TREC: the judgments, where they are not found by name. */
  readonly qrelsPath?: string;
}

export interface GoldenSetFile {
  readonly format: GoldenFormat;
  /** In the order of the file; each has at least one judgment, and these too are in the order of the file. */
  readonly queries: readonly GoldenQuery[];
  /** SHA-256, hex: equal if and only if the same bytes were read in the same roles with the same meaning. */
  readonly contentHash: string;
  /** What was left out, merged or looks wrong, one sentence each. */
  readonly warnings: readonly string[];
  readonly counts: { readonly queries: number; readonly judgments: number };
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
}

/** `problem` completes the sentence `Line 3 of FILE ...`. */
export type GoldenLineResult =
  | { readonly ok: true; readonly line: GoldenLine }
  | { readonly ok: false; readonly problem: string };

/** Reads one parsed JSON value of the JSONL form; the schema lives with the other contracts. */
export type ParseGoldenLine = (value: unknown) => GoldenLineResult;
