import { count, percentage, plural } from '../../../core/format.ts';
import { labelsPath, pipelinePath, runPath } from '../../../report/console/links.ts';
import type { Content, PageContent } from '../../../report/model/content.ts';
import { code, empty, lead, link, list, quiet, section, styled, table } from '../../../report/model/show.ts';
import { type LabelProposal, type MissingLabel, staleParts } from '../../rules/labels.ts';
import type { FoundFixes } from '../../sets/label-fixes.ts';

export interface LabelsPageData {
  readonly pipeline: string;
  readonly goldenSet: string;
  /** Stale labels in the latest completed run; null if there is no such run. */
  readonly known: {
    readonly runId: string;
    readonly labels: readonly MissingLabel[];
    readonly gap: string | null;
  } | null;
  /** Proposals; null until they are requested. */
  readonly found: FoundFixes | null;
}

/** Encodes a proposal as a form value: query, missing document, and the chunks that replace it. */
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
    aside: link('Runs of this set', pipelinePath(pipeline, 'golden'), { set: goldenSet }),
    content: [
      section(
        'stale',
        'Stale labels',
        {
          lead: 'Judgments of documents whose text has another id in the store (superseded), or that the manifest lists as deleted. These judgments lower the scores even if the retriever works correctly.',
        },
        stale(known),
      ),
      section(
        'fixes',
        'Repairs',
        {
          lead: 'recalld searches the store for chunks that contain the text of the missing documents, and proposes to move judgments to these chunks. It proposes to remove the judgments of documents that the manifest lists as deleted. A query that loses its last relevant document is removed as well, unless it has forbidden documents. The proposals that you accept become a new version of the set; the old version is not changed.',
        },
        found === null
          ? {
              kind: 'form',
              action: path,
              content: { kind: 'button', text: 'Search the store now' },
              forbidden: lead('The search requires an API key with the admin scope.'),
            }
          : proposed(path, found),
      ),
    ],
  };
}

function stale(known: LabelsPageData['known']): Content {
  if (known === null) return empty('No run of this set has completed yet, so its judgments have not been checked.');
  const { runId, labels, gap } = known;
  if (gap !== null) return empty(gap);
  if (labels.length === 0) return lead('None, as of ', link(runId, runPath(runId)), '.');
  const queries = new Set(labels.map(({ queryId }) => queryId)).size;
  const deleted = labels.filter(({ fate }) => fate === 'deleted').length;
  return lead(
    `${plural(labels.length, 'judgment')} of ${plural(queries, 'query', 'queries')} (${staleParts(labels.length, deleted)}), as of `,
    link(runId, runPath(runId), { view: 'stale' }),
    '.',
  );
}

function proposed(path: string, { set, proposals, gap, stale: lost }: FoundFixes): Content {
  const more = gap !== null && lead(gap);
  if (proposals.length === 0)
    return [
      lost === 0
        ? empty('Every judged document is in the store.')
        : empty(
            `The store contains no text similar to the known texts of the ${plural(lost, 'missing document')}.`,
            'Judge the affected queries again, or remove them from the set.',
          ),
      more,
    ];
  return {
    kind: 'form',
    action: `${path}/accept`,
    hidden: { version: set.version },
    content: [
      table('Proposals to move or remove judgments', proposals, [
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
        ['Missing document', ({ from }) => code(from)],
        [
          'Replacement',
          ({ to }) =>
            to.length === 0
              ? quiet('none: deleted in the manifest')
              : list(
                  'plain',
                  to.map(({ documentId, evidence }) => [
                    code(documentId),
                    ' ',
                    quiet(
                      evidence.kind === 'same_content'
                        ? 'the same text'
                        : `${evidence.kind === 'whole' ? 'contains' : 'is part of'} the missing text, ${percentage(evidence.kind === 'whole' ? evidence.ofLost : evidence.ofChunk)} match`,
                    ),
                  ]),
                ),
        ],
        ['Grade', ({ grade }) => grade, 'number'],
      ]),
      more,
      { kind: 'button', text: 'Accept the selected proposals as a new version' },
    ],
    forbidden: lead('You need an API key with the admin scope to accept proposals.'),
  };
}
