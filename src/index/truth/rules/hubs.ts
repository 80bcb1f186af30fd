/**
 * Hubs and dead chunks: what comes back for far more questions than its share, and what never does. In many dimensions a
 * few vectors are near to everything (Radovanović, Nanopoulos and Ivanović 2010).
 */
import { wilsonInterval } from '../../../math/stats/intervals.ts';

/** What answers brought, each question counted once however often it was asked. */
export interface ReturnedDocuments {
  /** Different questions that were answered. */
  readonly questions: number;
  /** Different documents among the first k of their answers. */
  readonly documents: number;
  /** Places in all answers together. */
  readonly places: number;
  /** Those that came back for most questions, first. */
  readonly top: readonly ReturnedDocument[];
}

export interface ReturnedDocument {
  readonly id: string;
  /** That brought it among the first k. */
  readonly questions: number;
  /** Texts of some, or their ids where none is kept. */
  readonly examples: readonly string[];
}

export interface Hub extends ReturnedDocument {
  /** Share of the questions that brought it, with bounds that hold for all documents together. */
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

/** Fewer questions tell nothing. */
export const MIN_QUESTIONS = 100;
/** A hub has so many times the share of the mean document that came back, */
const TIMES = 10;
/** and comes back for one question in fifty. */
const MIN_SHARE = 0.02;
const ERROR = 0.05;

/**
 * The documents whose share of the questions lies above both bounds for certain: by the lower Wilson bound at 95 %,
 * divided among all documents that came back (Bonferroni). Null for fewer than 100 questions.
 */
export function hubsOf({ questions, documents, places, top }: ReturnedDocuments): readonly Hub[] | null {
  if (questions < MIN_QUESTIONS) return null;
  if (documents === 0) return [];
  const mean = places / documents / questions;
  return top
    .map((one) => {
      const share = one.questions / questions;
      return { ...one, share, ...wilsonInterval(share, questions, 1 - ERROR / documents) };
    })
    .filter(({ low }) => low > Math.max(MIN_SHARE, TIMES * mean));
}

/** Of chunks drawn at random from the store, those that no question brought. */
export interface DeadChunks {
  readonly share: number;
  readonly low: number;
  readonly high: number;
  readonly sampled: number;
  readonly ids: readonly string[];
}

/**
 * Null where none of the drawn chunks ever came back: then the answers have other ids than the store.
 *
 * @param sampled ids drawn uniformly from the store
 * @param back those of them that came back for any question
 */
export function deadChunks(sampled: readonly string[], back: ReadonlySet<string>): DeadChunks | null {
  const ids = sampled.filter((id) => !back.has(id));
  if (ids.length === sampled.length) return null;
  const share = ids.length / sampled.length;
  return { share, ...wilsonInterval(share, sampled.length, 1 - ERROR), sampled: sampled.length, ids };
}
