/** What changed in pipelines, told by people or seen by recalld, with what people noted about it. */
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
 * @param annotations by id of the deployment
 * @param back where the browser goes when something was noted; null where nothing may be
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
    ['What', ({ kind }) => badge(kind, 'neutral')],
    ['Now', ({ version }) => code(version)],
    ['Told by', ({ source }) => (source === 'detected' ? 'seen by recalld' : 'somebody'), 'minor'],
    [
      'What changed, and notes',
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

/** What a deployment is called beside a line in a chart. */
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

/** @param name what is noted about, for the name of the field */
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
        { lead: 'Newest first. recalld sees by itself when the index or the embedding model changes.' },
        deployments.length === 0
          ? empty(
              'Nothing was deployed in this time that recalld was told of or saw.',
              'Choose a longer time, or have your deploy step call `recalld deployments add --pipeline P --kind retriever --version V`.',
            )
          : deploymentTable('Deployments, newest first', deployments, noted, address, pipeline === null),
      ),
    ],
  };
}
