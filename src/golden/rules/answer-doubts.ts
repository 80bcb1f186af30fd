/** What answers show to be a mistake of the config or of the set, and no fault of the retriever: one sentence each. */
import type { GoldenQuery } from '../../model.ts';
import type { QueryAnswer } from './run.ts';

/** Fewer answers do not tell that more documents never come. */
const MIN_ANSWERS = 5;

export interface AnswerDoubts {
  /** The set and the retriever call documents by different ids: nothing that is scored means anything. */
  readonly ids: string | null;
  /** Fewer documents come than are asked for, which a small store may have reason to. */
  readonly depth: string | null;
}

/** Those that there are, the gravest first. */
export function doubtSentences({ ids, depth }: AnswerDoubts): string[] {
  return [ids, depth].filter((doubt) => doubt !== null);
}

/**
 * @param answers to these queries
 * @param k how many documents the retriever was asked for
 */
export function doubtsOfAnswers(
  queries: readonly GoldenQuery[],
  answers: readonly Pick<QueryAnswer, 'queryId' | 'documents'>[],
  k: number,
): AnswerDoubts {
  return { ids: doubtOfIds(queries, answers), depth: doubtOfDepth(answers, k) };
}

/** Ids that the retriever never returns: then every score is 0, and none of them says why. */
function doubtOfIds(
  queries: readonly GoldenQuery[],
  answers: readonly Pick<QueryAnswer, 'queryId' | 'documents'>[],
): string | null {
  const judged = new Set(queries.flatMap(({ judgments }) => judgments.map(({ documentId }) => documentId)));
  const returned = answers.flatMap(({ documents }) => documents);
  if (judged.size === 0 || returned.length === 0 || returned.some(({ id }) => judged.has(id))) return null;
  const first = answers.find(({ documents }) => documents.length > 0);
  const asked = queries.find(({ id }) => id === first?.queryId)?.judgments ?? [];
  const expected = asked.toSorted((a, b) => b.grade - a.grade)[0]?.documentId ?? [...judged][0];
  const came = first?.documents[0]?.id;
  return `None of the ${returned.length} returned documents is judged: the set has ${expected}, the retriever returned ${came}. If both name the same document, mend the ids of the set or retriever.results.id.`;
}

function doubtOfDepth(answers: readonly Pick<QueryAnswer, 'documents'>[], k: number): string | null {
  const answered = answers.filter(({ documents }) => documents.length > 0);
  const most = Math.max(0, ...answered.map(({ documents }) => documents.length));
  if (answered.length < MIN_ANSWERS || most >= k) return null;
  return `Asked for ${k} documents, the retriever never returned more than ${most}: see that {{k}} is in its request and that it has no limit of its own, or lower golden[].cutoffs.`;
}
