/** What the store of a pipeline holds against what it should hold, with the ids of what is wrong. */
import { Empty, Facts, Section } from '../console/components/section.tsx';
import { Table } from '../console/components/table.tsx';
import { Age, agoOf, Bounded, Instant, Missing } from '../console/components/values.tsx';
import { count } from '../console/format.ts';
import { pipelinePath, within } from '../console/links.ts';
import { type Frame, Page } from '../console/page.tsx';
import { DeploymentTable } from '../deployments/deployment-table.tsx';
import type { LatestMeasurement } from '../measures/measurements.ts';
import { gapWords } from '../measures/rules/measure-table.ts';
import { shownMeasure } from '../measures/shown-measures.ts';
import { ALL_SEGMENT } from '../model.ts';
import type { FoundOfKind, IndexPageData } from './index-reads.ts';
import { isTooOld } from './measure-index.ts';
import type { FindingKind } from './rules/finding-kinds.ts';

const headings: Readonly<Record<FindingKind, { readonly title: string; readonly lead: string }>> = {
  missing: { title: 'Missing', lead: 'In the manifest, and not in the store.' },
  unretrievable: { title: 'Not retrieved', lead: 'In the store, and not found by the start of their own text.' },
  orphaned: { title: 'Orphaned', lead: 'In the store, and not in the manifest, or deleted there.' },
  superseded: { title: 'Superseded', lead: 'Chunks of more than one version are live.' },
  other_model: { title: 'Of another model', lead: 'The embedder makes other vectors of the stored texts.' },
};

export function IndexPage({ frame, data }: { readonly frame: Frame; readonly data: IndexPageData }) {
  const { pipeline, isIndexed, checkedAt, documents, found, deployments, now } = data;
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
      {found
        .filter(({ count: known }) => known > 0)
        .map((one) => (
          <Found key={one.kind} found={one} />
        ))}
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

function Found({ found: { kind, count: known, documents } }: { readonly found: FoundOfKind }) {
  const { title, lead } = headings[kind];
  const more = known > documents.length ? ` The first ${count(documents.length)} are listed.` : '';
  return (
    <Section id={kind} title={`${title}: ${count(known)}`} lead={`${lead}${more}`}>
      <details>
        <summary>Ids to copy</summary>
        <pre>{documents.map(({ id }) => id).join('\n')}</pre>
      </details>
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
