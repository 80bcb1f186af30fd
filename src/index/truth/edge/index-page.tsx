/** What the store of a pipeline holds against what it should hold, with the ids of what is wrong. */

import { count } from '../../../core/format.ts';
import { ALL_SEGMENT } from '../../../core/model.ts';
import { percent } from '../../../core/text/spelling.ts';
import { DeploymentTable } from '../../../live/deployments/edge/deployments-page.tsx';
import type { LatestMeasurement } from '../../../measures/measurements.ts';
import { gapWords } from '../../../measures/rules/measure-table.ts';
import { shownMeasure } from '../../../measures/shown-measures.ts';
import {
  Age,
  AskForm,
  agoOf,
  Bounded,
  Empty,
  Facts,
  Instant,
  Missing,
  Section,
  Table,
} from '../../../report/console/components.tsx';
import { pipelinePath, runPath, runQueryPath, within } from '../../../report/console/links.ts';
import { type Frame, Page } from '../../../report/console/page.tsx';
import type { FoundOfKind, IndexPageData } from '../index-reads.ts';
import { isTooOld } from '../measure-index.ts';
import type { NamedKind } from '../rules/findings.ts';

const headings: Readonly<Record<NamedKind, { readonly title: string; readonly lead: string }>> = {
  missing: { title: 'Missing', lead: 'In the manifest, and not in the store.' },
  unretrievable: { title: 'Not retrieved', lead: 'In the store, and not found by the start of their own text.' },
  orphaned: { title: 'Orphaned', lead: 'In the store, and not in the manifest, or deleted there.' },
  superseded: { title: 'Superseded', lead: 'Chunks of more than one version are live.' },
  other_model: { title: 'Of another model', lead: 'The embedder makes other vectors of the stored texts.' },
  late: { title: 'Late', lead: 'Changes that are followed, and have waited for longer than late_after.' },
};

export function IndexPage({ frame, data }: { readonly frame: Frame; readonly data: IndexPageData }) {
  const { pipeline, isIndexed, checkedAt, documents, found, leaks, deployments, now } = data;
  return (
    <Page frame={frame} title="Index" pipeline={pipeline} section="index" hasRange={false}>
      <Section
        id="index"
        title="What the store holds, and should hold"
        lead="The vector store against the manifest of the documents that it should hold."
      >
        {isIndexed && checkedAt !== null ? (
          <>
            <Facts
              facts={[
                { name: 'Documents in the manifest', value: documents === null ? 'unknown' : count(documents) },
                {
                  name: 'Last looked',
                  value: <Age seconds={agoOf(checkedAt, now)} />,
                  detail: <Instant at={checkedAt} />,
                },
              ]}
            />
            <Measures data={data} />
          </>
        ) : (
          <Nothing isIndexed={isIndexed} />
        )}
      </Section>
      {leaks.length === 0 ? null : <Leaks leaks={leaks} frame={frame} />}
      {found
        .filter(({ count: known }) => known > 0)
        .map((one) => (
          <Found key={one.kind} found={one} />
        ))}
      <Hubs data={data} frame={frame} />
      {deployments.length === 0 ? null : (
        <Section id="changes" title="What changed" lead="The latest deployments of this pipeline.">
          <DeploymentTable
            caption="Deployments"
            deployments={deployments}
            notes={new Map()}
            range={frame.range}
            withPipeline={false}
            formToken={null}
            back={within(frame.range, pipelinePath(pipeline, 'index'))}
          />
        </Section>
      )}
    </Page>
  );
}

function Nothing({ isIndexed }: { readonly isIndexed: boolean }) {
  if (isIndexed) return <Empty why="No round has come to its end yet." />;
  const todo = (
    <>
      Add <code>index</code> with a <code>manifest</code> to it in the config.
    </>
  );
  return <Empty why="Nobody says what the store of this pipeline should hold." todo={todo} />;
}

function Measures({ data: { measures, now } }: { readonly data: IndexPageData }) {
  return (
    <Table
      caption="Measures of the index"
      isCompact
      columns={[
        { title: 'Measure' },
        { title: 'Segment', isMinor: true },
        { title: 'Value, 95 % bounds', isNumber: true },
        { title: 'n', isNumber: true },
        { title: 'Measured', isNumber: true },
      ]}
      rows={measures.map((one) => measureRow(one, now))}
    />
  );
}

function measureRow(one: LatestMeasurement, now: Date) {
  const { measure, segment, newest, gap } = one;
  const { title, note, show } = shownMeasure(measure);
  const isOld = isTooOld(one, now);
  const last = gap ?? newest;
  const isKnown = newest !== null && gap === null && !isOld;
  const value = !isKnown ? (
    <Missing>{gap === null ? 'withheld' : `none: ${gapWords(gap.reason)}`}</Missing>
  ) : (
    <>
      {newest.details['is_at_least'] === true ? 'at least ' : null}
      <Bounded value={newest.value} low={newest.ciLow} high={newest.ciHigh} show={show} />
    </>
  );
  return {
    key: `${measure} ${segment}`,
    cells: [
      <span title={note}>{title}</span>,
      segment === ALL_SEGMENT ? '' : segment,
      value,
      isKnown ? count(newest.n) : '',
      last === null ? '' : <Age seconds={agoOf(last.measuredAt, now)} isTooOld={isOld} />,
    ],
  };
}

const EXAMPLES = 3;

function Hubs({ data: { returned, isDrawn }, frame }: { readonly data: IndexPageData; readonly frame: Frame }) {
  const { hubs, questions } = returned;
  const lead = `Documents among the first ten of far more questions than their share: of ${count(questions)} different questions of the last seven days and of the latest golden runs.`;
  if (hubs === null) return null;
  return (
    <Section id="hubs" title={`Hubs: ${count(hubs.length)}`} lead={lead}>
      {hubs.length === 0 ? (
        <Empty why="No document comes back for far more questions than its share." />
      ) : (
        <Table
          caption="Hubs"
          columns={[{ title: 'Document' }, { title: 'Of the questions, bounds', isNumber: true }, { title: 'Such as' }]}
          rows={hubs.map(({ id, share, low, high, examples }) => ({
            key: id,
            cells: [
              <code class="document">{id}</code>,
              <Bounded value={share} low={low} high={high} show={percent} />,
              examples.slice(0, EXAMPLES).join('; '),
            ],
          }))}
        />
      )}
      {isDrawn ? (
        <DeadChunks returned={returned} />
      ) : (
        <AskForm frame={frame} section="hubs" label="Look for chunks that never come back">
          A thousand are drawn from the store.
        </AskForm>
      )}
    </Section>
  );
}

const MAX_DEAD = 50;

function DeadChunks({ returned: { dead, why, questions } }: Pick<IndexPageData, 'returned'>) {
  if (dead === null) return <Empty why={why ?? 'Nothing was drawn.'} />;
  const { share, low, high, sampled, ids } = dead;
  return (
    <>
      <p class="lead">
        {percent(share)} of {count(sampled)} chunks drawn from the store came back for none of the {count(questions)}{' '}
        questions, 95 % {percent(low)} to {percent(high)}.
      </p>
      {ids.length === 0 ? null : (
        <details>
          <summary>
            {ids.length > MAX_DEAD ? `The first ${MAX_DEAD} of ${count(ids.length)}` : 'Which they are'}
          </summary>
          <pre>{ids.slice(0, MAX_DEAD).join('\n')}</pre>
        </details>
      )}
    </>
  );
}

function Ids({ documents }: { readonly documents: readonly string[] }) {
  return (
    <details>
      <summary>Ids to copy</summary>
      <pre>{documents.join('\n')}</pre>
    </details>
  );
}

/** More would bury what changed. */
const MAX_LEAKS = 50;

function Leaks({ leaks, frame }: { readonly leaks: IndexPageData['leaks']; readonly frame: Frame }) {
  const more = leaks.length > MAX_LEAKS ? ` The first ${MAX_LEAKS} are listed; the pages of the runs have more.` : '';
  return (
    <Section
      id="leaked"
      title={`Leaked: ${count(leaks.length)}`}
      lead={`Forbidden documents that the latest golden run or sentinel brought, asked twice.${more}`}
    >
      <Ids documents={[...new Set(leaks.slice(0, MAX_LEAKS).map(({ documentId }) => documentId))]} />
      <Table
        caption="Leaked"
        columns={[
          { title: 'Document' },
          { title: 'Query' },
          { title: 'Rank', isNumber: true },
          { title: 'Since (UTC)' },
          { title: 'Run' },
        ]}
        rows={leaks.slice(0, MAX_LEAKS).map(({ documentId, queryId, rank, runId, goldenSet, since }) => ({
          key: `${runId} ${queryId} ${documentId}`,
          cells: [
            <code class="document">{documentId}</code>,
            <a href={within(frame.range, runQueryPath(runId, queryId))}>{queryId}</a>,
            count(rank),
            <Instant at={since} />,
            <a href={within(frame.range, runPath(runId))}>{goldenSet}</a>,
          ],
        }))}
      />
    </Section>
  );
}

function Found({ found: { kind, count: known, documents } }: { readonly found: FoundOfKind }) {
  const { title, lead } = headings[kind];
  const more = known > documents.length ? ` The first ${count(documents.length)} are listed.` : '';
  return (
    <Section id={kind} title={`${title}: ${count(known)}`} lead={`${lead}${more}`}>
      <Ids documents={documents.map(({ id }) => id)} />
      <Table
        caption={title}
        isCompact
        columns={[{ title: 'Document' }, { title: 'Segment', isMinor: true }, { title: 'Since (UTC)' }]}
        rows={documents.map(({ id, segment, foundAt }) => ({
          key: id,
          cells: [<code class="document">{id}</code>, segment ?? '', <Instant at={foundAt} />],
        }))}
      />
    </Section>
  );
}
