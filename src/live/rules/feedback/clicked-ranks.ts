/** Which of the documents that were shown for a sampled query were clicked. */

import { MINUTE_MS } from '../../../time.ts';
import type { ClusterMember } from '../sampling/clusters.ts';

/** A sampled query with what was shown for it, best first. */
export interface ShownQuery extends ClusterMember {
  readonly id: string;
  readonly occurredAt: Date;
  /** Empty when the retrieval found nothing or failed. */
  readonly documentIds: readonly string[];
}

/** A counted click. */
export interface Click {
  readonly queryId: string;
  readonly documentId: string | null;
  /** From 1; used when the document is not named. */
  readonly rank: number | null;
  readonly occurredAt: Date;
}

/** A sampled query as the click measures need it. */
export interface ClickedQuery extends ClusterMember {
  /** Number of documents that were shown, at the ranks 1 to `shown`. */
  readonly shown: number;
  /** Ranks of the clicked ones, ascending, each once. */
  readonly clickedRanks: readonly number[];
}

export interface ClickAttribution {
  /** One per query, in their order. */
  readonly queries: readonly ClickedQuery[];
  /** Clicks that are not in `queries`, by why. */
  readonly leftOut: {
    /** Of a query that is not among these: not sampled, or of another window. */
    readonly otherQuery: number;
    /** On a document that was not shown, or without document and rank. */
    readonly notShown: number;
    readonly late: number;
  };
}

/** How long after its query a click counts: half an hour, the usual end of a session. */
export const CLICK_ATTRIBUTION_MS = 30 * MINUTE_MS;

/**
 * Assigns clicks to the documents of sampled queries. A document counts as clicked once, however often it was.
 *
 * Services send the clicks of all queries, but what was shown is known only for the sampled ones. So only clicks of
 * sampled queries are used, with the weight of their query: clicks and impressions are then those of the same queries.
 * All clicks over the impressions of a tenth of the queries would give a rate ten times too high.
 *
 * A click counts only within `attributionMs` of its query, so that an old window has had no more time to gather clicks
 * than a new one; the newest windows must wait for theirs, see `settledUntil`.
 *
 * @param queries of one pipeline
 * @param clicks latest opinions of kind `click` of that pipeline, within their caps
 */
export function clickedQueries(
  queries: readonly ShownQuery[],
  clicks: readonly Click[],
  attributionMs = CLICK_ATTRIBUTION_MS,
): ClickAttribution {
  const entries = queries.map((query) => ({ query, ranks: new Set<number>() }));
  const byId = new Map(entries.map((entry) => [entry.query.id, entry]));
  const leftOut = { otherQuery: 0, notShown: 0, late: 0 };
  for (const click of clicks) {
    const entry = byId.get(click.queryId);
    if (entry === undefined) {
      leftOut.otherQuery++;
      continue;
    }
    const rank = shownRank(click, entry.query.documentIds);
    if (rank === null) leftOut.notShown++;
    else if (click.occurredAt.getTime() - entry.query.occurredAt.getTime() > attributionMs) leftOut.late++;
    else entry.ranks.add(rank);
  }
  return {
    queries: entries.map(({ query: { cluster, probability, documentIds }, ranks }) => ({
      cluster,
      probability,
      shown: documentIds.length,
      clickedRanks: [...ranks].toSorted((a, b) => a - b),
    })),
    leftOut,
  };
}

/**
 * Queries before this time have all the clicks that they can get; windows that end later should not be measured yet.
 */
export function settledUntil(now: Date, attributionMs = CLICK_ATTRIBUTION_MS): Date {
  return new Date(now.getTime() - attributionMs);
}

/** The document's rank among those that were shown; the rank that was sent only where no document was named. */
function shownRank({ documentId, rank }: Click, documentIds: readonly string[]): number | null {
  if (documentId !== null) {
    const index = documentIds.indexOf(documentId);
    return index < 0 ? null : index + 1;
  }
  return rank !== null && rank >= 1 && rank <= documentIds.length ? rank : null;
}
