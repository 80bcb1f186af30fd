/**
 * What can be wrong with a document of an index, a closed list, so that it can be a label of a metric; and what is
 * wrong for certain, in a sentence, for alarms and diagnoses.
 */
import { durationText, percent } from '../../text/spelling.ts';

/** What can be wrong with a document of an index; a closed list, so that it can be a label of a metric. */
export const findingKinds = ['missing', 'unretrievable', 'orphaned', 'superseded', 'other_model'] as const;

export type FindingKind = (typeof findingKinds)[number];

/** Of what documents are named: beside what is wrong, changes that wait for longer than they may. */
export const namedKinds = [...findingKinds, 'late'] as const;

export type NamedKind = (typeof namedKinds)[number];

/** For headings and tables. */
export const findingWords: Readonly<Record<NamedKind, string>> = {
  missing: 'missing',
  unretrievable: 'not retrieved',
  orphaned: 'orphaned',
  superseded: 'superseded',
  other_model: 'of another model',
  late: 'late',
};

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

export function isWrong({ ciLow }: Pick<WrongShare, 'ciLow'>): boolean {
  return ciLow > WRONG_SHARE;
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

/** How long 19 of 20 changes of the last day take at the most to arrive in the store, in seconds. */
export interface ArrivalLag {
  readonly seconds: number;
  /** Lower 95 % bound. */
  readonly atLeast: number;
  /** `late_after` of the config. */
  readonly allowed: number;
  /** Changes behind it, and those of them that have not come. */
  readonly n: number;
  readonly waiting: number;
}

export function isLate({ atLeast, allowed }: ArrivalLag): boolean {
  return atLeast > allowed;
}

/** `One in twenty changes takes at least 5 h 20 min to arrive in the store (n = 40, 3 not there yet); 1 h 0 min is allowed.` */
export function lagSentence({ atLeast, allowed, n, waiting }: ArrivalLag): string {
  const missing = waiting === 0 ? '' : `, ${waiting} not there yet`;
  return `One in twenty changes takes at least ${durationText(atLeast)} to arrive in the store (n = ${n}${missing}); ${durationText(allowed)} is allowed.`;
}
