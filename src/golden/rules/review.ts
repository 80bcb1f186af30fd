/** Questions that wait for a person's word before they join a golden set. */

export interface ReviewedJudgment {
  readonly documentId: string;
  /** Null: not judged. */
  readonly grade: number | null;
}

export interface ReviewOrigin {
  readonly kind: 'live' | 'generated';
  readonly pipeline: string;
  readonly liveQueryHash: string | null;
  readonly userHash: string | null;
  readonly askedAt: Date | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** One line of a review file. */
export interface ReviewItem {
  readonly keep: boolean;
  readonly id: string;
  readonly text: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly judgments: readonly ReviewedJudgment[];
  readonly origin: ReviewOrigin;
}

/** `problem` completes the sentence `Line 3 of FILE ...`. */
export type ReviewLineResult =
  | { readonly ok: true; readonly item: ReviewItem }
  | { readonly ok: false; readonly problem: string };
