import type { Content, ContentNode, Section } from '../../../report/model/content.ts';
import { empty, group, lead, section, styled, table, value, verbatim } from '../../../report/model/show.ts';
import { rankingsOf } from '../../rules/steps.ts';
import type { QueryPageData } from './golden-reads.ts';

export function stepsSection(
  steps: readonly string[],
  { after, query, showsText }: QueryPageData,
  named: (id: string) => Content,
  gradeOf: (id: string, grade: number | null) => ContentNode,
): Section {
  const grades = new Map(query.judgments.map(({ documentId, grade }) => [documentId, grade]));
  const k = Math.max(...after.run.settings.cutoffs);
  const rankings = rankingsOf(after.answer?.documents ?? []);
  const firstStep = new Map<string, number>();
  const columns = steps.map((text, index) => {
    const documents = (rankings[index] ?? []).slice(0, k).map(({ id, score }, place) => {
      const first = firstStep.get(id) ?? index + 1;
      firstStep.set(id, first);
      return {
        id,
        rank: place + 1,
        score,
        first,
      };
    });
    return section(
      `step-${index + 1}`,
      `Step ${index + 1}`,
      { lead: showsText && verbatim(text) },
      documents.length === 0
        ? empty('This step returned no documents.')
        : table(
            `Documents of step ${index + 1}`,
            documents,
            [
              ['Rank', ({ rank }) => rank, 'number'],
              ['Document', ({ id }) => named(id)],
              ['Grade', ({ id }) => gradeOf(id, grades.get(id) ?? null)],
              ['New', ({ first }) => (first === index + 1 ? styled('rose', 'new') : `repeats step ${first}`)],
              ['Score', ({ score }) => score !== null && value(score, 'other'), 'minor number'],
            ],
            'compact',
          ),
    );
  });
  return section(
    'steps',
    'Steps',
    {
      lead: `recalld sent the steps to the retriever in this order. all_found@${k} and union_recall@${k} score the union of the first ${k} documents of each step.`,
    },
    after.answer === null ? lead('This run has no results for the query.') : group('sides', ...columns),
  );
}
