import type { RetrievedDocument } from '../../core/model.ts';
import { isDerivedId } from '../../core/text/content-id.ts';
import {
  type DocumentPattern,
  type FilledPattern,
  fillPattern,
  matchesPattern,
  parsePattern,
  segmentValue,
} from '../../core/text/document-pattern.ts';

/** Restricts which documents may be returned for queries that have a given segment. */
export interface IsolationRule {
  readonly name: string;
  readonly segment: string;
  /** Document field that is compared; null if document ids are compared. */
  readonly field: string | null;
  readonly allow: readonly string[];
}

/**
 * Reasons why a rule could not be evaluated for a query. Unchecked queries are counted separately, never as violations.
 */
export const uncheckedReasons = ['segment_missing', 'document_unidentified', 'field_missing'] as const;

export type UncheckedReason = (typeof uncheckedReasons)[number];

export const noneUnchecked: Readonly<Record<UncheckedReason, number>> = {
  segment_missing: 0,
  document_unidentified: 0,
  field_missing: 0,
};

export type IsolationOutcome = 'allowed' | 'violated' | UncheckedReason;

/** Maximum number of documents stored per violation; all documents are counted. */
export const MAX_VIOLATING = 10;

/** A rule with parsed patterns, which can be evaluated on many queries. */
export type ParsedRule = ReturnType<typeof parseRules>[number];

export function parseRules(rules: readonly IsolationRule[]) {
  return rules.map((rule) => ({ ...rule, allow: rule.allow.map(parsePattern) }));
}

export interface IsolatedAnswer {
  readonly segments: Readonly<Record<string, string>>;
  /** Best first. */
  readonly results: readonly RetrievedDocument[];
}

export type Violation = Extract<ReturnType<typeof evaluateRule>, object>;

/** Evaluates a rule. A violation takes precedence over a document that could not be checked. */
export function evaluateRule(rule: ParsedRule, { segments, results }: IsolatedAnswer) {
  const value = segmentValue(segments, rule.segment);
  if (value === null) return 'segment_missing' as const;
  const { field } = rule;
  let patterns: readonly FilledPattern[] | null = null;
  let unchecked: UncheckedReason | null = null;
  let violating: Map<string, number> | null = null;
  for (let index = 0; index < results.length; index++) {
    const { id, fields } = results[index] as RetrievedDocument;
    const compared = field === null ? id : fields?.[field];
    if (compared === undefined || compared === '') {
      unchecked ??= 'field_missing';
      continue;
    }
    patterns ??= fillPatterns(rule.allow, segments);
    if (isAllowed(patterns, compared)) continue;
    if (field === null && isDerivedId(id)) {
      unchecked ??= 'document_unidentified';
      continue;
    }
    violating ??= new Map();
    if (!violating.has(id)) violating.set(id, index + 1);
  }
  if (violating === null) return unchecked;
  const documents = [...violating].slice(0, MAX_VIOLATING).map(([id, rank]) => ({ id, rank }));
  return {
    rule: rule.name,
    segment: value,
    /** The best-ranked forbidden documents, each once; ranks start at 1. */
    documents,
    documentCount: violating.size,
  };
}

function fillPatterns(allow: readonly DocumentPattern[], segments: IsolatedAnswer['segments']): FilledPattern[] {
  const filled: FilledPattern[] = [];
  for (const pattern of allow) {
    const one = fillPattern(pattern, segments);
    if (one !== null) filled.push(one);
  }
  return filled;
}

/** Uses a loop, because `some` with a closure takes twice as long. */
function isAllowed(patterns: readonly FilledPattern[], value: string): boolean {
  for (let index = 0; index < patterns.length; index++)
    if (matchesPattern(patterns[index] as FilledPattern, value)) return true;
  return false;
}
