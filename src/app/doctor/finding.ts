/** What the doctor says of one service. */
export interface Finding {
  /** `database`, `queue`, or a part of a pipeline such as `support-docs retriever`. */
  readonly service: string;
  /** `unreachable`: it does not answer; `wrong`: it answers, and something must be mended; `skipped`: not in the config. */
  readonly status: 'ok' | 'warning' | 'wrong' | 'unreachable' | 'skipped';
  /** How long it took to answer, in milliseconds; null when it was not asked. */
  readonly ms: number | null;
  /** One sentence: what was seen, or what is wrong and how to mend it. */
  readonly message: string;
}

export type Report = (finding: Finding) => void;
