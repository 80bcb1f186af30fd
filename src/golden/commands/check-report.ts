/** What the check of a golden set says, for people and as JSON. */

import type { AnchorEvidence, LabelProposal } from '../rules/labels.ts';
import type { CheckedSet } from '../sets/check-golden-set.ts';
import type { RepresentativenessOutcome } from '../sets/live-mix.ts';

/** Below it a set has no real value for comparisons. */
const FEWEST_QUERIES = 100;
const SHOWN = 20;

/** Lines for people; problems first, then advice. */
export function checkLines({ set, queries, check }: CheckedSet): string[] {
  const { labels, problems, lost, proposals, recorded, representativeness } = check;
  const lines = [
    `${set.name} version ${set.version}: ${queries.length} queries, ${set.judgments} judgments`,
    '',
  ];
  if (labels.kind === 'unknown') lines.push(`Labels: not looked at. ${labels.reason}`);
  else {
    lines.push(
      labels.stale === 0
        ? `Labels: all ${labels.probed} judged documents are in the store.`
        : `Stale labels: ${labels.stale} of ${labels.probed} judged documents are gone from the store, ` +
            `${labels.touched.size} queries lost some, ${labels.dead.size} lost all.`,
      ...shown(
        labels.labels.map(({ queryId, documentId, grade }) => `  ${queryId}: ${documentId} (grade ${grade})`),
      ),
    );
  }
  if (proposals.length > 0) {
    lines.push(
      `Proposals: ${proposals.length}; --fix asks for each, --fix --accept all takes them all.`,
      ...shown(proposals.map((proposal) => `  ${proposalLine(proposal)}`)),
    );
  }
  if (lost.unknown.length > 0) {
    lines.push(
      `Without a proposal, because their text was never seen: ${lost.unknown.length} documents. ` +
        'The texts of judged documents are kept while the daemon runs.',
    );
  }
  if (lost.gap !== null) lines.push(`The search for lost documents ended early: ${lost.gap}`);
  section(lines, 'Duplicates', problems.duplicates, ({ first, second, likeness, similarity }) =>
    likeness === 'equal'
      ? `${first} = ${second}`
      : `${first} ~ ${second} (${similarity.toFixed(2)} of their words)`,
  );
  section(
    lines,
    'Contradictions',
    problems.contradictions,
    ({ first, second, documentId, grades }) =>
      `${documentId} has grade ${grades[0]} for ${first}, grade ${grades[1]} for ${second}, the same question`,
  );
  section(lines, 'Queries without a relevant document', problems.withoutRelevant, (id) => id);
  lines.push('', ...advice(queries.length), ...representativenessLines(representativeness));
  lines.push(`Texts of judged documents known: ${recorded.known} of ${recorded.judged}.`);
  return lines;
}

export function checkJson({ set, queries, check }: CheckedSet, verdict: 'ok' | 'problems'): unknown {
  const { labels, problems, lost, proposals, recorded, representativeness: live } = check;
  return {
    golden_set: set.name,
    version: set.version,
    verdict,
    queries: queries.length,
    labels:
      labels.kind === 'unknown'
        ? { probed: null, stale: null, gap: labels.reason, stale_labels: [] }
        : {
            probed: labels.probed,
            stale: labels.stale,
            gap: null,
            stale_labels: labels.labels.map(({ queryId, documentId, grade }) => ({
              query_id: queryId,
              document_id: documentId,
              grade,
            })),
          },
    proposals: proposals.map(({ number, queryId, from, to, grade }) => ({
      number,
      query_id: queryId,
      from,
      to: to.map(({ documentId, evidence }) => ({ document_id: documentId, ...evidenceJson(evidence) })),
      grade,
    })),
    unknown_documents: lost.unknown,
    search_gap: lost.gap,
    duplicates: problems.duplicates,
    contradictions: problems.contradictions.map(({ first, second, documentId, grades }) => ({
      first,
      second,
      document_id: documentId,
      grades,
    })),
    without_relevant: problems.withoutRelevant,
    advice: advice(queries.length),
    texts: recorded,
    live_traffic:
      live.kind === 'unknown'
        ? { covered: null, gap: live.message }
        : {
            covered: live.covered?.value ?? null,
            ci_low: live.covered?.ciLow ?? null,
            ci_high: live.covered?.ciHigh ?? null,
            n: live.live.length,
            gap: null,
            represented: live.represented,
            topics: live.topics.map(({ share, covered, golden, typical }) => ({
              share,
              covered,
              golden,
              examples: typical.flatMap((row) => live.live[row]?.id ?? []),
            })),
          },
  };
}

/** One proposal in a line. */
export function proposalLine({ number, queryId, from, to, grade }: LabelProposal): string {
  const chunks = to
    .map(({ documentId, evidence }) => `${documentId} (${evidenceWords(evidence)})`)
    .join(', ');
  return `${number}. ${queryId}: grade ${grade} from ${from} to ${chunks}`;
}

function evidenceWords(evidence: AnchorEvidence): string {
  switch (evidence.kind) {
    case 'same_content':
      return 'the same text';
    case 'whole':
      return `holds ${percent(evidence.ofLost)} of its text`;
    case 'part':
      return `a part, ${percent(evidence.ofLost)} of its text`;
  }
}

function evidenceJson(evidence: AnchorEvidence): Record<string, unknown> {
  if (evidence.kind === 'same_content') return { evidence: evidence.kind, cosine: evidence.cosine };
  const { kind, ofLost, ofChunk, cosine } = evidence;
  return { evidence: kind, of_lost: ofLost, of_chunk: ofChunk, cosine };
}

function advice(queries: number): string[] {
  return queries < FEWEST_QUERIES
    ? [
        `Size: ${queries} queries are few; have at least ${FEWEST_QUERIES}, better 300, before you trust a verdict.`,
      ]
    : [];
}

function representativenessLines(live: RepresentativenessOutcome): string[] {
  if (live.kind === 'unknown') return [`Live traffic: not compared. ${live.message}`];
  if (live.covered === null) return ['Live traffic: there are no live queries to compare with.'];
  const { value, ciLow, ciHigh } = live.covered;
  const lacking = live.topics.filter(({ golden }) => golden === 0);
  return [
    `Live traffic: ${percent(value)} (95 % ${percent(ciLow)} to ${percent(ciHigh)}) of the live queries of the last week ` +
      `have a golden query near by; n = ${live.live.length}.`,
    ...shown(
      lacking.map(
        ({ share, typical }) =>
          `  no golden query: ${percent(share)} of traffic, such as live query ${live.live[typical[0] ?? -1]?.id ?? '?'}`,
      ),
    ),
  ];
}

function section<T>(lines: string[], title: string, items: readonly T[], line: (item: T) => string): void {
  if (items.length > 0)
    lines.push(`${title}: ${items.length}`, ...shown(items.map((item) => `  ${line(item)}`)));
}

function shown(lines: readonly string[]): string[] {
  const more = lines.length - SHOWN;
  return more > 0 ? [...lines.slice(0, SHOWN), `  ... and ${more} more, see --json`] : [...lines];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
