/** Labels of a golden set whose documents left the store, and what a person may accept in their place. */

import { count, plural } from '../../../core/format.ts';
import { percent } from '../../../core/text/spelling.ts';
import { Empty, Section, Sentence, Table } from '../../../report/console/components.tsx';
import { labelsPath, pipelinePath, runPath, within } from '../../../report/console/links.ts';
import { type Frame, Page } from '../../../report/console/page.tsx';
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

export function LabelsPage({ frame, data }: { readonly frame: Frame; readonly data: LabelsPageData }) {
  const { pipeline, goldenSet, known, found } = data;
  const { range, visitor } = frame;
  const formToken = visitor?.canAct === true ? visitor.formToken : null;
  const path = labelsPath(pipeline, goldenSet);
  return (
    <Page
      frame={frame}
      title={`Labels of ${goldenSet}`}
      pipeline={pipeline}
      section="golden"
      hasRange={false}
      aside={<a href={within(range, pipelinePath(pipeline, 'golden'), { set: goldenSet })}>Its runs</a>}
    >
      <Section
        id="stale"
        title="Stale labels"
        lead="Judged documents that are no longer in the store: scores fall by them without any fault of the retriever."
      >
        <Stale frame={frame} known={known} />
      </Section>
      <Section
        id="fixes"
        title="What took their place"
        lead="recalld looks in the store for chunks with the text that the lost documents had. What you accept becomes a new version of the set; the old one stays as it is."
      >
        {found === null ? (
          <Ask path={path} formToken={formToken} />
        ) : (
          <Proposals path={path} found={found} formToken={formToken} />
        )}
      </Section>
    </Page>
  );
}

function Stale({ frame, known }: { readonly frame: Frame; readonly known: LabelsPageData['known'] }) {
  if (known === null) {
    return <Empty why="No run of this set has completed yet, so its labels have not been looked at." />;
  }
  const { runId, labels, gap } = known;
  if (gap !== null) return <Empty why={gap} />;
  if (labels.length === 0) {
    return (
      <p class="lead">
        None, as of <a href={within(frame.range, runPath(runId))}>{runId}</a>.
      </p>
    );
  }
  return (
    <p class="lead">
      {plural(labels.length, 'label')} of{' '}
      {plural(new Set(labels.map(({ queryId }) => queryId)).size, 'query', 'queries')}, as of{' '}
      <a href={within(frame.range, runPath(runId), { view: 'stale' })}>{runId}</a>.
    </p>
  );
}

function Ask({ path, formToken }: { readonly path: string; readonly formToken: string | null }) {
  if (formToken === null) return <p class="lead">Looking for them needs an API key of scope admin.</p>;
  return (
    <form method="post" action={path}>
      <input type="hidden" name="form_token" value={formToken} />
      <button type="submit">Look in the store now</button>
    </form>
  );
}

interface ProposalsProps {
  readonly path: string;
  readonly found: FoundFixes;
  readonly formToken: string | null;
}

function Proposals({ path, found, formToken }: ProposalsProps) {
  const { version, proposals, gap, stale } = found;
  const gapNote =
    gap === null ? null : (
      <p class="lead">
        <Sentence>{gap}</Sentence>
      </p>
    );
  if (proposals.length === 0) {
    return (
      <>
        <Empty
          why={
            stale === 0
              ? 'Every judged document is in the store.'
              : `Nothing in the store comes near the text of the ${plural(stale, 'lost document')}, as far as their texts were seen.`
          }
          {...(stale === 0 ? {} : { todo: 'Judge these queries anew, or take them out of the set.' })}
        />
        {gapNote}
      </>
    );
  }
  return (
    <form method="post" action={`${path}/accept`}>
      <input type="hidden" name="form_token" value={formToken ?? ''} />
      <input type="hidden" name="version" value={version} />
      <Table
        caption="Proposals to move labels"
        columns={[
          { title: 'Accept' },
          { title: 'Query' },
          { title: 'Lost document' },
          { title: 'In its place' },
          { title: 'Grade', isNumber: true },
        ]}
        rows={proposals.map((proposal) => ({
          key: String(proposal.number),
          cells: [
            <label>
              <input type="checkbox" name="accept" value={acceptanceValue(proposal)} />{' '}
              <span class="unseen">Accept proposal </span>
              {count(proposal.number)}
            </label>,
            <code>{proposal.queryId}</code>,
            <code>{proposal.from}</code>,
            <ul>
              {proposal.to.map(({ documentId, evidence }) => (
                <li key={documentId}>
                  <code>{documentId}</code>{' '}
                  <span class="of">
                    {evidence.kind === 'same_content'
                      ? 'the same text'
                      : `${evidence.kind === 'whole' ? 'holds' : 'is part of'} the lost text, ${percent(evidence.kind === 'whole' ? evidence.ofLost : evidence.ofChunk, 0)} agree`}
                  </span>
                </li>
              ))}
            </ul>,
            proposal.grade,
          ],
        }))}
      />
      {gapNote}
      {formToken === null ? null : (
        <div class="acts">
          <button type="submit">Accept the chosen ones as a new version</button>
        </div>
      )}
    </form>
  );
}
