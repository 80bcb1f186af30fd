import { groupBy } from '../../core/group-by.ts';
import type { GoldenQuery } from '../../core/model.ts';
import { queryKey } from './golden-set-builder.ts';
import { nearDuplicates, normalisedText } from './similar-texts.ts';

/** Minimum Jaccard similarity of words for two queries to count as near-duplicates. */
export const NEAR_TEXT = 0.9;

/**
 * Finds duplicates, contradictions and queries without a relevant document. Two queries with the same tags are
 * duplicates if either the Jaccard similarity of the words in their texts is at least 0.9, or the texts differ only in
 * case and punctuation. Two equal queries contradict each other if a document is judged relevant to one and irrelevant
 * to the other.
 */
export function findJudgmentProblems(queries: readonly GoldenQuery[], relevanceLevel: number) {
  const duplicates: {
    readonly first: string;
    readonly second: string;
    /** `equal`: the texts are equal except for case and punctuation. `near`: the texts have nearly the same words. */
    readonly likeness: 'equal' | 'near';
    readonly similarity: number;
  }[] = [];
  const contradictions: ReturnType<typeof contradictionsOf> = [];
  // Queries with the same text but different tenants or languages are not duplicates.
  for (const group of groupBy(queries, ({ tags }) => queryKey({ text: '', tags })).values()) {
    const texts = group.map(({ text }) => text);
    for (const { first, second, similarity } of nearDuplicates(texts, NEAR_TEXT)) {
      const [a, b] = [group[first], group[second]];
      if (a === undefined || b === undefined) continue;
      const likeness = normalisedText(a.text) === normalisedText(b.text) ? 'equal' : 'near';
      duplicates.push({ first: a.id, second: b.id, likeness, similarity });
      if (likeness === 'equal') contradictions.push(...contradictionsOf(a, b, relevanceLevel));
    }
  }
  return {
    duplicates,
    contradictions,
    /** Ids of queries without a relevant document. These queries score 0 regardless of the results. */
    withoutRelevant: queries
      .filter(({ judgments }) => !judgments.some(({ grade }) => grade >= relevanceLevel))
      .map(({ id }) => id),
  };
}

function contradictionsOf(a: GoldenQuery, b: GoldenQuery, relevanceLevel: number) {
  const grades = new Map(a.judgments.map(({ documentId, grade }) => [documentId, grade]));
  return b.judgments.flatMap(({ documentId, grade }) => {
    const other = grades.get(documentId);
    if (other === undefined || other >= relevanceLevel === grade >= relevanceLevel) return [];
    return [{ first: a.id, second: b.id, documentId, grades: [other, grade] as const }];
  });
}
