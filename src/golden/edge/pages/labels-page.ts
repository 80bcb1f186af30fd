/** Labels of a golden set whose documents left the store, and what a person may accept in their place. */
import { count, percentage, plural } from '../../../core/format.ts';
import { labelsPath, pipelinePath, runPath } from '../../../report/console/links.ts';
import type { Content, PageContent } from '../../../report/model/content.ts';
import { code, empty, lead, link, list, quiet, section, styled, table } from '../../../report/model/show.ts';
import type { LabelProposal, StaleLabel } from '../../rules/labels.ts';
import type { FoundFixes } from '../../sets/label-fixes.ts';

export interface LabelsPageData {
  readonly pipeline: string;
  readonly goldenSet: string;
  /** Of the latest run that completed; null while none did. */
  readonly known: {
    readonly runId: string;
    readonly labels: readonly StaleLabel[];
    readonly gap: string | null;
  } | null;
  /** Null until somebody asked for them. */
  readonly found: FoundFixes | null;
}

/** The field of a form that stands for a proposal: query, lost document, and the chunks in its place. */
export function acceptanceValue({ queryId, from, to }: LabelProposal): string {
  return JSON.stringify([queryId, from, to.map(({ documentId }) => documentId)]);
}

export function labelsPage({ pipeline, goldenSet, known, found }: LabelsPageData): PageContent {
  const path = labelsPath(pipeline, goldenSet);
  return {
    title: `Labels of ${goldenSet}`,
    pipeline,
    section: 'golden',
    hasRange: false,
    aside: link('Its runs', pipelinePath(pipeline, 'golden'), { set: goldenSet }),
    content: [
      section(
        'stale',
        'Stale labels',
        {
          lead: 'Judged documents that are no longer in the store: scores fall by them without any fault of the retriever.',
        },
        stale(known),
      ),
      section(
        'fixes',
        'What took their place',
        {
          lead: 'recalld looks in the store for chunks with the text that the lost documents had. What you accept becomes a new version of the set; the old one stays as it is.',
        },
        found === null
          ? {
              kind: 'form',
              action: path,
              content: { kind: 'button', text: 'Look in the store now' },
              forbidden: lead('Looking for them needs an API key of scope admin.'),
            }
          : proposed(path, found),
      ),
    ],
  };
}

function stale(known: LabelsPageData['known']): Content {
  if (known === null) return empty('No run of this set has completed yet, so its labels have not been looked at.');
  const { runId, labels, gap } = known;
  if (gap !== null) return empty(gap);
  if (labels.length === 0) return lead('None, as of ', link(runId, runPath(runId)), '.');
  const queries = new Set(labels.map(({ queryId }) => queryId)).size;
  return lead(
    `${plural(labels.length, 'label')} of ${plural(queries, 'query', 'queries')}, as of `,
    link(runId, runPath(runId), { view: 'stale' }),
    '.',
  );
}

function proposed(path: string, { version, proposals, gap, stale: lost }: FoundFixes): Content {
  const more = gap !== null && lead(gap);
  if (proposals.length === 0)
    return [
      lost === 0
        ? empty('Every judged document is in the store.')
        : empty(
            `Nothing in the store comes near the text of the ${plural(lost, 'lost document')}, as far as their texts were seen.`,
            'Judge these queries anew, or take them out of the set.',
          ),
      more,
    ];
  return {
    kind: 'form',
    action: `${path}/accept`,
    hidden: { version },
    content: [
      table('Proposals to move labels', proposals, [
        [
          'Accept',
          (proposal) => ({
            kind: 'input',
            type: 'checkbox',
            name: 'accept',
            value: acceptanceValue(proposal),
            label: [styled('unseen', 'Accept proposal '), count(proposal.number)],
          }),
        ],
        ['Query', ({ queryId }) => code(queryId)],
        ['Lost document', ({ from }) => code(from)],
        [
          'In its place',
          ({ to }) =>
            list(
              'plain',
              to.map(({ documentId, evidence }) => [
                code(documentId),
                ' ',
                quiet(
                  evidence.kind === 'same_content'
                    ? 'the same text'
                    : `${evidence.kind === 'whole' ? 'holds' : 'is part of'} the lost text, ${percentage(evidence.kind === 'whole' ? evidence.ofLost : evidence.ofChunk)} agree`,
                ),
              ]),
            ),
        ],
        ['Grade', ({ grade }) => grade, 'number'],
      ]),
      more,
      { kind: 'button', text: 'Accept the chosen ones as a new version' },
    ],
    forbidden: lead('Accepting proposals needs an API key of scope admin.'),
  };
}
