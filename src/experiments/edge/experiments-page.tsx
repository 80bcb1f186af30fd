/** What is known of the shadows and variants of a pipeline, for a colleague who is to decide. */

import { score } from '../../core/format.ts';
import { DAY_MS } from '../../core/time.ts';
import { verdicts } from '../../golden/edge/pages/tables.tsx';
import { Badge, Bounded, Empty, Facts, Missing, Section, Sentence, Table } from '../../report/console/components.tsx';
import { runPath } from '../../report/console/links.ts';
import { type Frame, Page } from '../../report/console/page.tsx';
import { keyOf, type ReadContext } from '../context.ts';
import { readShadow, readVariants } from '../read-reports.ts';
import type { Candidate, Comparison, ShadowReport, VariantsReport } from '../report.ts';
import type { ExperimentVerdict } from '../rules/verdict.ts';
import type { ChangedAnswer } from '../sql/shadow-answers.ts';
import { factsOf, formatOf, notesOf, sentencesOf, sizeOf, titleOf } from './shown.ts';

interface ExperimentsPageData {
  readonly pipeline: string;
  readonly shadows: readonly {
    readonly report: ShadowReport;
    /** Live queries whose lists have least in common; none where no text may be shown. */
    readonly changed: readonly ChangedAnswer[];
  }[];
  /** Null where the pipeline compares none. */
  readonly variants: VariantsReport | null;
}

const LISTED = 10;

export async function readExperimentsPage(
  ctx: ReadContext,
  name: string,
  showsText: boolean,
): Promise<ExperimentsPageData> {
  const shadows: ExperimentsPageData['shadows'][number][] = [];
  for (const pipeline of ctx.pipelines.filter((one) => one.name === name)) {
    for (const shadow of pipeline.shadows) {
      const report = await readShadow(ctx, pipeline, shadow);
      const since = new Date(ctx.clock.now().getTime() - report.live.days * DAY_MS);
      const changed = showsText ? await ctx.shadowAnswers.mostChanged(keyOf(pipeline, shadow), since, LISTED) : [];
      shadows.push({ report, changed });
    }
  }
  const plan = ctx.variantPlans.find(({ pipeline }) => pipeline === name);
  return { pipeline: name, shadows, variants: plan === undefined ? null : await readVariants(ctx, plan) };
}

export function ExperimentsPage({ frame, data }: { readonly frame: Frame; readonly data: ExperimentsPageData }) {
  const { pipeline, shadows, variants } = data;
  return (
    <Page frame={frame} title="Experiments" pipeline={pipeline} section="experiments" hasRange={false}>
      {shadows.length > 0 || variants !== null ? null : (
        <Section id="experiments" title="Experiments" lead="Is another retriever, or a variant of the service, better?">
          <Empty
            why="This pipeline has neither shadows nor variants."
            todo="Add `shadow` with a name and a retriever, or `variants` with its arms, to it in the config."
          />
        </Section>
      )}
      {shadows.map(({ report, changed }) => (
        <>
          <Section
            id={`shadow-${report.name}`}
            title={report.name}
            lead={<Sentence>{report.explanation}</Sentence>}
            aside={<VerdictOn verdict={report.verdict} />}
          >
            <Compared candidate={report} />
            <Facts facts={factsOf(report)} />
          </Section>
          {changed.length === 0 ? null : <Changed shadow={report.name} changed={changed} />}
        </>
      ))}
      {variants === null ? null : <Variants report={variants} />}
    </Page>
  );
}

function VerdictOn({ verdict }: { readonly verdict: ExperimentVerdict }) {
  if (verdict === 'no_data') return <Badge tone="no_data">no data</Badge>;
  return <Badge tone={verdicts[verdict].tone}>{verdicts[verdict].text}</Badge>;
}

function Variants({ report }: { readonly report: VariantsReport }) {
  const { split, arms } = report;
  return (
    <Section
      id="variants"
      title="Variants"
      lead={<Sentence>{split.explanation}</Sentence>}
      {...(split.verdict === 'mismatch' ? { aside: <Badge tone="warning">Split is off</Badge> } : {})}
    >
      <Sentences sentences={notesOf(report)} />
      {arms.map((arm) => (
        <>
          <h3>
            {arm.name} <VerdictOn verdict={arm.verdict} />
          </h3>
          <p class="lead">
            <Sentence>{arm.explanation}</Sentence>
          </p>
          <Compared candidate={arm} />
        </>
      ))}
    </Section>
  );
}

function Sentences({ sentences }: { readonly sentences: readonly string[] }) {
  return (
    <>
      {sentences.map((sentence) => (
        <p key={sentence} class="lead">
          <Sentence>{sentence}</Sentence>
        </p>
      ))}
    </>
  );
}

function Compared({ candidate }: { readonly candidate: Candidate }) {
  const { name, baseline, comparisons } = candidate;
  if (comparisons.length === 0)
    return <Empty why="The pipeline has no golden set, so nothing says which of the two is better." />;
  return (
    <>
      <Table
        caption={`${name} beside ${baseline}`}
        columns={[
          { title: 'Measure' },
          { title: 'Verdict' },
          { title: baseline, isNumber: true },
          { title: name, isNumber: true },
          { title: 'Difference, bounds', isNumber: true },
          { title: 'Finds', isNumber: true, isMinor: true },
          { title: 'n', isNumber: true },
        ]}
        rows={comparisons.map((one) => ({ key: `${one.source} ${one.measure}`, cells: cellsOf(one) }))}
      />
      <Sentences sentences={sentencesOf(candidate)} />
    </>
  );
}

function cellsOf(one: Comparison) {
  const { verdict, called_on: on, baseline, candidate, difference, smallest_detectable_difference: smallest } = one;
  const show = formatOf(one.measure);
  const run = one.test?.run_id ?? one.latest_run?.run_id;
  return [
    run === undefined ? titleOf(one) : <a href={runPath(run)}>{titleOf(one)}</a>,
    <>
      <VerdictOn verdict={verdict} />
      {on === null ? null : ` since ${on}`}
    </>,
    baseline === null ? <Missing>none yet</Missing> : show.value(baseline),
    candidate === null ? <Missing>none yet</Missing> : show.value(candidate),
    difference === null ? (
      <Missing>too little</Missing>
    ) : (
      <Bounded value={difference} low={one.ci_low} high={one.ci_high} show={show.difference} />
    ),
    smallest === null ? '' : score(smallest),
    sizeOf(one),
  ];
}
function Changed({ shadow, changed }: { readonly shadow: string; readonly changed: readonly ChangedAnswer[] }) {
  return (
    <Section
      id={`changed-${shadow}`}
      title="Live queries that it answers most differently"
      lead="The first documents of both lists, those first that have least in common."
    >
      <Table
        caption="Lists that differ most"
        columns={[
          { title: 'Query' },
          { title: 'Overlap', isNumber: true },
          { title: 'Users got' },
          { title: 'Shadow' },
        ]}
        rows={changed.map(({ queryId, text, overlap, shownIds, documentIds }) => ({
          key: queryId,
          cells: [text, score(overlap), <Ids ids={shownIds} />, <Ids ids={documentIds} />],
        }))}
      />
    </Section>
  );
}

const SHOWN_IDS = 3;

function Ids({ ids }: { readonly ids: readonly string[] }) {
  const rest = ids.length - SHOWN_IDS;
  if (ids.length === 0) return <>nothing</>;
  return (
    <>
      <code class="document">{ids.slice(0, SHOWN_IDS).join(', ')}</code>
      {rest > 0 ? ` and ${rest} more` : null}
    </>
  );
}
