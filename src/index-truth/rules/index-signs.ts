/** What is wrong with an index for certain, in a sentence: for alarms and diagnoses. */
import { percent } from '../../text/spelling.ts';
import type { FindingKind } from './finding-kinds.ts';

/** The latest share of a kind of finding. */
export interface WrongShare {
  readonly kind: FindingKind;
  readonly value: number;
  readonly ciLow: number;
  readonly n: number;
  /** Documents that are known by their ids. */
  readonly known: number;
}

/** Share of documents with which something must be wrong at the least, by the lower 95 % bound. */
export const WRONG_SHARE = 0.005;
/** Few chunks are embedded again. */
export const OTHER_MODEL_SHARE = 0.01;

export function isWrong({ kind, ciLow }: WrongShare): boolean {
  return ciLow > (kind === 'other_model' ? OTHER_MODEL_SHARE : WRONG_SHARE);
}

const whatIs: Readonly<Record<FindingKind, string>> = {
  missing: 'of the manifest are missing in the store',
  unretrievable: 'of the store are not found by their own text',
  orphaned: 'of the store should no longer be there',
  superseded: 'have chunks of more than one version in the store',
  other_model: 'have vectors of another model',
};

/** `412 documents of the manifest are missing in the store (2.1 % of 20000, at least 1.9 %).` */
export function wrongSentence({ kind, value, ciLow, n, known }: WrongShare): string {
  const documents = `${known} ${known === 1 ? 'document' : 'documents'}`;
  return `${documents} ${whatIs[kind]} (${percent(value)} of ${n} looked at, at least ${percent(ciLow)}).`;
}
