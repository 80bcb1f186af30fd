/** Live queries with negative feedback -> the topics that people complain about, and what others liked who asked alike. */
import { matrixOf } from '../vector/matrix.ts';
import type { ComplaintQuery, ComplaintsTable } from './complaints-table.ts';
import type { VectorisedComplaints } from './compute.ts';
import type { ComplaintTopic, ComplaintTopics } from './rules/complaint-topics.ts';
import { distinctExamples, isOneByLabel, labelTopic } from './rules/topic-description.ts';

/** Queries of either side, as many as votes of clusters count. */
const MAX_QUERIES = 2000;
const MAX_DOCUMENTS = 3;

export interface NamedComplaint extends ComplaintTopic {
  /** Distinctive words; empty where no texts are kept. */
  readonly label: readonly string[];
  readonly shown: readonly ComplaintQuery[];
  /** Of its queries, those that failed and those that found nothing. */
  readonly failed: number;
  readonly empty: number;
  /** Documents that people who asked alike clicked or praised, those of most people first. */
  readonly liked: readonly string[];
}

export type Complaints =
  | Extract<ComplaintTopics, { kind: 'insufficient_data' }>
  | (Omit<Extract<ComplaintTopics, { kind: 'topics' }>, 'topics'> & { readonly topics: readonly NamedComplaint[] });

export interface FindComplaintsDeps {
  readonly table: ComplaintsTable;
  /** See `complaintTopics`. */
  readonly cluster: (rated: VectorisedComplaints) => ComplaintTopics | Promise<ComplaintTopics>;
}

/** Looks through the kept live queries of a pipeline that have a vector, without storing anything. */
export async function findComplaints(
  { table, cluster }: FindComplaintsDeps,
  pipeline: string,
  since: Date,
): Promise<Complaints> {
  const read = await table.rated(pipeline, since, MAX_QUERIES);
  const dimensions = read[0]?.vector.length ?? 0;
  const usable = read.filter(({ vector }) => vector.length === dimensions);
  const queries = usable.map(({ id, session, day, isNegative }) => ({ id, session, day, isNegative }));
  const found = await cluster({ queries, vectors: matrixOf(usable.map(({ vector }) => vector)) });
  if (found.kind === 'insufficient_data') return found;
  const ids = queries.map(({ id }) => id);
  const known = await table.queries(pipeline, since, found.topics.length === 0 ? [] : ids);
  const textOf = (id: string): string[] => {
    const text = known.get(id)?.text ?? null;
    return text === null ? [] : [text];
  };
  const topics: NamedComplaint[] = [];
  for (const topic of found.topics) {
    const own = new Set(topic.members);
    const texts = topic.members.flatMap(textOf);
    const label = labelTopic(
      texts,
      ids.flatMap((id) => (own.has(id) ? [] : textOf(id))),
    );
    if (topic.subjects !== 'one' && !isOneByLabel(texts, label)) continue;
    const members = topic.members.flatMap((id) => known.get(id) ?? []);
    const textsById = new Map(members.flatMap(({ id, text }) => (text === null ? [] : [[id, text] as const])));
    topics.push({
      ...topic,
      label,
      shown: distinctExamples(topic.examples, topic.members, textsById).flatMap((id) => known.get(id) ?? []),
      failed: members.filter(({ outcome }) => outcome === 'error' || outcome === 'timeout').length,
      empty: members.filter(({ outcome }) => outcome === 'empty').length,
      liked: await table.liked(pipeline, since, topic.alike, MAX_DOCUMENTS),
    });
  }
  return { ...found, topics };
}
