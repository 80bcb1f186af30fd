/** What changed in pipelines, told by people or seen by recalld, with what people noted about it. */
import { Badge, Empty, Instant, PipelineChoice, Section, Table } from '../../../report/console/components.tsx';
import { pipelinePath, type TimeRange, within } from '../../../report/console/links.ts';
import { type Frame, Page } from '../../../report/console/page.tsx';
import type { Annotation, AnnotationSubject } from '../deployments.ts';
import { changeInWords, type Deployment } from '../rules/deployment.ts';

interface DeploymentTableProps {
  readonly caption: string;
  readonly deployments: readonly Deployment[];
  /** By id of the deployment. */
  readonly notes: ReadonlyMap<string, readonly Annotation[]>;
  readonly range: TimeRange;
  readonly withPipeline: boolean;
  /** Null for those who may not note anything. */
  readonly formToken: string | null;
  /** Where the browser goes when something was noted. */
  readonly back: string;
}

export function DeploymentTable(props: DeploymentTableProps) {
  const { caption, deployments, notes, range, withPipeline, formToken, back } = props;
  return (
    <Table
      caption={caption}
      columns={[
        { title: 'When (UTC)' },
        ...(withPipeline ? [{ title: 'Pipeline' }] : []),
        { title: 'What' },
        { title: 'Now' },
        { title: 'Told by', isMinor: true },
        { title: 'What changed, and notes' },
      ]}
      rows={deployments.map((deployment) => ({
        key: deployment.id,
        cells: [
          <Instant at={deployment.occurredAt} />,
          ...(withPipeline
            ? [<a href={within(range, pipelinePath(deployment.pipeline))}>{deployment.pipeline}</a>]
            : []),
          <Badge tone="neutral">{deployment.kind}</Badge>,
          <code>{deployment.version}</code>,
          deployment.source === 'detected' ? 'seen by recalld' : 'somebody',
          <>
            {deployment.note === null ? null : <p class="note-line">{deployment.note}</p>}
            {deployment.changes.map(changeInWords).map(({ trait, before, after }) => (
              <p key={trait} class="note-line">
                {trait}: <code>{before ?? 'none'}</code> to <code>{after ?? 'none'}</code>
              </p>
            ))}
            <Notes notes={notes.get(deployment.id) ?? []} />
            {formToken === null ? null : (
              <NoteForm
                subject="deployment"
                id={deployment.id}
                name={`the ${deployment.kind} deployment ${deployment.version}`}
                formToken={formToken}
                back={back}
              />
            )}
          </>,
        ],
      }))}
    />
  );
}

/** What a deployment is called beside a line in a chart. */
export function deploymentMark({ kind, version, occurredAt, note }: Deployment) {
  return { at: occurredAt, text: `${kind} ${version}${note === null ? '' : ` (${note})`}` };
}

export const MAX_NOTE = 1000;

export function Notes({ notes }: { readonly notes: readonly Annotation[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="notes">
      {notes.map(({ id, text, author, createdAt }) => (
        <li key={id}>
          {text}{' '}
          <span class="of">
            {author ?? 'without a key'}, <Instant at={createdAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

interface NoteFormProps {
  readonly subject: AnnotationSubject;
  readonly id: string;
  /** What is noted about, for the name of the field. */
  readonly name: string;
  readonly formToken: string;
  readonly back: string;
}

export function NoteForm({ subject, id, name, formToken, back }: NoteFormProps) {
  return (
    <details class="act">
      <summary aria-label={`Add a note on ${name}`}>Add a note</summary>
      <form method="post" action="/actions/annotate">
        <input type="hidden" name="form_token" value={formToken} />
        <input type="hidden" name="back" value={back} />
        <input type="hidden" name="subject" value={subject} />
        <input type="hidden" name="id" value={id} />
        <label>
          Note on {name}
          <input type="text" name="text" maxLength={MAX_NOTE} required autocomplete="off" />
        </label>
        <button type="submit">Save note</button>
      </form>
    </details>
  );
}

export interface DeploymentsPageData {
  /** Newest first. */
  readonly deployments: readonly Deployment[];
  readonly notes: ReadonlyMap<string, readonly Annotation[]>;
  readonly pipelines: readonly string[];
  /** Null: all of them. */
  readonly pipeline: string | null;
}

export function DeploymentsPage({ frame, data }: { readonly frame: Frame; readonly data: DeploymentsPageData }) {
  const { deployments, notes, pipelines, pipeline } = data;
  const { visitor, range } = frame;
  return (
    <Page frame={frame} title="Deployments" section="deployments" {...(pipeline === null ? {} : { pipeline })}>
      <PipelineChoice frame={frame} path="/deployments" pipelines={pipelines} chosen={pipeline} />
      <Section
        id="deployments"
        title="Changes"
        lead="Newest first. recalld sees by itself when the index or the embedding model changes."
      >
        {deployments.length === 0 ? (
          <Empty
            why="Nothing was deployed in this time that recalld was told of or saw."
            todo={
              <>
                Choose a longer time, or have your deploy step call{' '}
                <code>recalld deployments add --pipeline P --kind retriever --version V</code>.
              </>
            }
          />
        ) : (
          <DeploymentTable
            caption="Deployments, newest first"
            deployments={deployments}
            notes={notes}
            range={range}
            withPipeline={pipeline === null}
            formToken={visitor?.canAct === true ? visitor.formToken : null}
            back={within(range, '/deployments', { pipeline })}
          />
        )}
      </Section>
    </Page>
  );
}
