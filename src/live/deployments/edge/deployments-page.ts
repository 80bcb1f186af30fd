/** The deployments page: recorded and detected pipeline changes, with notes. */
import { capitalized } from '../../../core/format.ts';
import { pipelinePath } from '../../../report/console/links.ts';
import type { TrendMark } from '../../../report/model/charts.ts';
import type { Content, Form, PageContent, Table } from '../../../report/model/content.ts';
import {
  code,
  empty,
  link,
  list,
  paragraph,
  pipelineChoices,
  quiet,
  section,
  strong,
  table,
  time,
  verbatim,
} from '../../../report/model/show.ts';
import type { readDeploymentsPage } from '../../../report/status/status-reads.ts';
import type { Annotation, AnnotationSubject } from '../deployments.ts';
import { changeInWords, type Deployment, type DeploymentKind } from '../rules/deployment.ts';

/**
 * @param annotations notes, keyed by the id of their deployment
 * @param back page to return to after saving a note; null if notes cannot be added
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
    [
      'Change',
      (deployment) => {
        const { id, kind, version } = deployment;
        return [
          paragraph(changeSentence(deployment)),
          notes(annotations.get(id) ?? []),
          back !== null && noteForm('deployment', id, `the ${kind} deployment ${version}`, back),
        ];
      },
    ],
  ]);
}

const kindNames: Readonly<Record<DeploymentKind, string>> = {
  index: 'index',
  embedder: 'embedding model',
  retriever: 'retriever',
  golden: 'golden set',
  judge: 'judge',
};

/**
 * Returns a sentence such as "Index v8 was deployed: ef 40." or "recalld detected a change in the index: metric from l2
 * to cosine."
 */
export function changeSentence({ kind, version, source, note, changes }: Deployment): Content {
  const name = kindNames[kind];
  const shown = changes
    .map(changeInWords)
    .map(
      ({ trait, before, after }, index): Content => [
        index > 0 && '; ',
        `${trait} from `,
        strong(before ?? 'none'),
        ' to ',
        strong(after ?? 'none'),
      ],
    );
  const reason = note !== null && [shown.length > 0 ? '; ' : ': ', verbatim(note)];
  if (source === 'annotated') return [strong(`${capitalized(name)} `, code(version)), ' was deployed', reason, '.'];
  return [
    'recalld detected a change in the ',
    strong(name),
    shown.length > 0 ? [': ', shown] : [' (fingerprint ', code(version), ')'],
    reason,
    '.',
  ];
}

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

/** @param name subject of the note, for the label of the field */
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
        { lead: 'Newest first. recalld automatically detects changes to the index and the embedding model.' },
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
