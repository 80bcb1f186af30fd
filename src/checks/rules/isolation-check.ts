/** The check of an isolation rule: a single violation makes the check critical immediately. */

import { count, percentage, plural } from '../../core/format.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { UncheckedReason } from '../../live/rules/isolation.ts';
import type { ConfiguredCheck } from './check-state.ts';
import type { CheckFacts } from './evaluate.ts';
import { NO_VALUE } from './threshold.ts';

/** How long the check stays critical after the last violation. */
export const ISOLATION_WINDOW_MS = HOUR_MS;

/** How long an evaluation is trusted; after that, the check has no data. */
const TRUST_MS = 900_000;

export function isolationCheckName(rule: string): string {
  return `isolation rule ${rule}`;
}

export function isolationCheckOf(pipeline: string, rule: string): ConfiguredCheck {
  return {
    kind: 'isolation',
    measure: 'isolation',
    pipeline,
    goldenSet: null,
    name: isolationCheckName(rule),
    severity: 'critical',
    threshold: 0,
    // A pipeline that has not received any traffic yet is not faulty.
    isQuietAtFirst: true,
  };
}

/** Results of an isolation rule within the window. */
export interface FoundByRule {
  readonly violated: number;
  readonly allowed: number;
  readonly unchecked: Readonly<Record<UncheckedReason, number>>;
  /** The latest violations, newest first. */
  readonly latest: readonly {
    readonly segment: string;
    readonly documents: readonly { readonly id: string; readonly rank: number }[];
    readonly documentCount: number;
  }[];
}

/**
 * Returns the facts for the evaluation of an isolation rule's check. If the rule could not check any query, the check
 * has no data. An alert then fires, because the rule's config or the service probably has a fault.
 *
 * @param found null if no query arrived within the window
 */
export function factsOfIsolation(rule: string, found: FoundByRule | null, now: Date): CheckFacts {
  const facts = {
    evidence: { from: new Date(now.getTime() - ISOLATION_WINDOW_MS), until: now },
    threshold: null,
    comparedWith: null,
    evaluatedAt: now,
    trustedUntil: new Date(now.getTime() + TRUST_MS),
    unconfirmed: null,
  };
  if (found === null) {
    const explanation = 'No live queries in the last hour.';
    return { ...facts, ...NO_VALUE, verdict: 'no_data', isBeyond: false, isQuiet: true, explanation };
  }
  const { violated: value, allowed, unchecked } = found;
  const n = value + allowed;
  const rest = uncheckedText(unchecked, n);
  if (n === 0) {
    const explanation = `The rule ${rule} could not check any query in the last hour${rest}.`;
    return { ...facts, ...NO_VALUE, verdict: 'no_data', isBeyond: false, isQuiet: false, explanation };
  }
  const counted = { value, ciLow: null, ciHigh: null, n, isQuiet: false };
  if (value > 0)
    return { ...facts, ...counted, verdict: 'critical', isBeyond: true, explanation: violationText(rule, found) };
  const explanation = `No violations of the rule ${rule} in ${plural(n, 'live query', 'live queries')}${rest}.`;
  return { ...facts, ...counted, verdict: 'ok', isBeyond: false, explanation };
}

/**
 * Maximum number of violations listed in an explanation. Query ids are omitted, because an incident must not keep them
 * after an erasure; `GET /v1/isolation-violations` lists all violations with their query ids.
 */
export const MAX_NAMED_VIOLATIONS = 3;
const MAX_NAMED_DOCUMENTS = 3;
const MAX_NAME = 80;

function violationText(rule: string, { violated, latest }: FoundByRule): string {
  const named = latest.slice(0, MAX_NAMED_VIOLATIONS).map(({ segment, documents, documentCount }) => {
    const shown = documents.slice(0, MAX_NAMED_DOCUMENTS).map(({ id, rank }) => `${short(id)} (rank ${rank})`);
    const more = documentCount > shown.length ? ` and ${documentCount - shown.length} more` : '';
    return `${short(segment)} got ${shown.join(', ')}${more}`;
  });
  const others = violated > named.length ? `; ${count(violated - named.length)} more` : '';
  return `${plural(violated, 'live query', 'live queries')} violated the rule ${rule} in the last hour: ${named.join('; ')}${others}.`;
}

function short(name: string): string {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
}

const reasonTexts: Readonly<Record<UncheckedReason, string>> = {
  segment_missing: "lack the rule's segment",
  document_unidentified: 'have documents without an id',
  field_missing: 'have documents without the field',
};

/** Lists the shares of queries that could not be checked: ` (not checked: 5 % lack the rule's segment)`. */
function uncheckedText(unchecked: FoundByRule['unchecked'], checked: number): string {
  const total = checked + Object.values(unchecked).reduce((sum, queries) => sum + queries, 0);
  const parts = Object.entries(reasonTexts).flatMap(([reason, text]) => {
    const queries = unchecked[reason as UncheckedReason];
    return queries === 0 ? [] : [`${percentage(queries / total)} ${text}`];
  });
  return parts.length === 0 ? '' : ` (not checked: ${parts.join(', ')})`;
}
