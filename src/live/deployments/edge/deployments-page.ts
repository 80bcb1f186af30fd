/** The page of deployments: annotated and detected changes of pipelines, with notes. */
import { pipelinePath } from '../../../report/console/links.ts';
import type { TrendMark } from '../../../report/model/charts.ts';
import type { Content, Form, PageContent, Table } from '../../../report/model/content.ts';
import {
  badge,
  code,
  empty,
  link,
  list,
  paragraph,
  pipelineChoices,
  quiet,
  section,
  table,
  time,
  verbatim,
} from '../../../report/model/show.ts';
import type { readDeploymentsPage } from '../../../report/status/status-reads.ts';
import type { Annotation, AnnotationSubject } from '../deployments.ts';
import { changeInWords, type Deployment } from '../rules/deployment.ts';

/**
 * @param annotations notes by the id of their deployment
 * @param back page to return to after saving a note; null where notes cannot be added
 */
export function deploymentTable(
  caption: string,
  deployments: readonly Deployment[],
  annotations: ReadonlyMap<string, readonly Annotation[]>,
  back: string | null,
  withPipeline: boolean,
): Table {
  return table(caption, deployments, [
    ['When (UTC)', ({ occurredAt }) => time(occurredAt)],
    withPipeline ? ['Pipeline', ({ pipeline }) => link(pipeline, pipelinePath(pipeline))] : null,
    ['Kind', ({ kind }) => badge(kind, 'neutral')],
    ['Version', ({ version }) => code(version)],
    ['Source', ({ source }) => (source === 'detected' ? 'detected by recalld' : 'annotated'), 'minor'],
    [
      'Changes and notes',
      ({ id, kind, version, note, changes }) => [
        note !== null && paragraph(verbatim(note)),
        changes
          .map(changeInWords)
          .map(({ trait, before, after }) =>
            paragraph(`${trait}: `, code(before ?? 'none'), ' to ', code(after ?? 'none')),
          ),
        notes(annotations.get(id) ?? []),
        back !== null && noteForm('deployment', id, `the ${kind} deployment ${version}`, back),
      ],
    ],
  ]);
}

/** Label of a deployment line in a chart. */
export function deploymentMark({ kind, version, occurredAt, note }: Deployment): TrendMark {
  return { at: occurredAt, text: `${kind} ${version}${note === null ? '' : ` (${note})`}` };
}

export const MAX_NOTE = 1000;

export function notes(shown: readonly Annotation[]): Content {
  if (shown.length === 0) return null;
  return list(
    'notes',
    shown.map(({ text, author, createdAt }) => [
      verbatim(`${text} `),
      quiet(author ?? 'without a key', ', ', time(createdAt)),
    ]),
  );
}

/** @param name what the note is about, for the label of the field */
export function noteForm(subject: AnnotationSubject, id: string, name: string, back: string): Form {
  return {
    kind: 'form',
    action: '/actions/annotate',
    hidden: { back, subject, id },
    fold: { summary: 'Add a note', label: `Add a note on ${name}` },
    content: [
      {
        kind: 'input',
        type: 'text',
        name: 'text',
        label: `Note on ${name}`,
        attributes: { maxLength: MAX_NOTE, required: true },
      },
      { kind: 'button', text: 'Save note' },
    ],
  };
}

export function deploymentsPage({
  deployments,
  notes: noted,
  pipelines,
  pipeline,
  address,
}: Awaited<ReturnType<typeof readDeploymentsPage>>): PageContent {
  return {
    title: 'Deployments',
    pipeline,
    section: 'deployments',
    content: [
      pipelineChoices('/deployments', pipelines, pipeline),
      section(
        'deployments',
        'Changes',
        { lead: 'Newest first. recalld detects changes of the index and the embedding model by itself.' },
        deployments.length === 0
          ? empty(
              'No deployments in this period.',
              'Choose a longer period, or let your deploy step call `recalld deployments add --pipeline P --kind retriever --version V`.',
            )
          : deploymentTable('Deployments, newest first', deployments, noted, address, pipeline === null),
      ),
    ],
  };
}
