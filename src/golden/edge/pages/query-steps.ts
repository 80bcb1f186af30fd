import type { Section } from '../../../report/model/content.ts';
import { empty, group, lead, section, styled, verbatim } from '../../../report/model/show.ts';
import { rankingsOf } from '../../rules/steps.ts';
import type { QueryPageData } from './golden-reads.ts';
import { rankedTable } from './query-sides.ts';

export function stepsSection(steps: readonly string[], data: QueryPageData): Section {
  const { after, query, showsText } = data;
  const grades = new Map(query.judgments.map(({ documentId, grade }) => [documentId, grade]));
  const k = Math.max(...after.run.settings.cutoffs);
  const rankings = rankingsOf(after.answer?.documents ?? []);
  const firstStep = new Map<string, number>();
  const columns = steps.map((text, index) => {
    const documents = (rankings[index] ?? []).slice(0, k).map(({ id, score }, place) => {
      const first = firstStep.get(id) ?? index + 1;
      firstStep.set(id, first);
      return { id, rank: place + 1, score, grade: grades.get(id) ?? null, first };
    });
    return section(
      `step-${index + 1}`,
      `Step ${index + 1}`,
      { lead: showsText && verbatim(text) },
      documents.length === 0
        ? empty('This step returned no documents.')
        : rankedTable(`Documents of step ${index + 1}`, documents, data, [
            'New',
            ({ first }) => (first === index + 1 ? styled('rose', 'new') : `repeats step ${first}`),
          ]),
    );
  });
  return section(
    'steps',
    'Steps',
    {
      lead: `recalld sent the steps to the retriever in this order. all_found@${k} and union_recall@${k} score the union of the top ${k} documents of each step.`,
    },
    after.answer === null ? lead('This run has no results for the query.') : group('sides', ...columns),
  );
}
