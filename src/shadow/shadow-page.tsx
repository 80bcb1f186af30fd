/** What is known of the shadows of a pipeline, for a colleague who is to decide. */
import { Badge, Bounded, Empty, Facts, Missing, Section, Sentence, Table, type Tone } from '../console/components.tsx';
import { count, score, signed } from '../console/format.ts';
import { runPath } from '../console/links.ts';
import { type Frame, Page } from '../console/page.tsx';
import { percent } from '../text/spelling.ts';
import type { ShadowVerdict } from './rules/looks.ts';
import {
  evidenceSentence,
  judgedEvidence,
  type ShadowOnJudged,
  type ShadowOnSet,
  type ShadowPageData,
  type ShadowReport,
  verdictSentences,
} from './shadow-reads.ts';
import type { ListedAnswer } from './shadow-tables.ts';

const tones: Readonly<Record<ShadowVerdict, Tone>> = {
  worse: 'critical',
  better: 'good',
  alike: 'ok',
  undecided: 'neutral',
  no_data: 'no_data',
};

const words: Readonly<Record<ShadowVerdict, string>> = {
  worse: 'Worse',
  better: 'Better',
  alike: 'As good',
  undecided: 'Undecided',
  no_data: 'No data',
};

export function ShadowPage({ frame, data }: { readonly frame: Frame; readonly data: ShadowPageData }) {
  const { pipeline, shadows, showsText } = data;
  return (
    <Page frame={frame} title="Shadows" pipeline={pipeline} section="shadow" hasRange={false}>
      {shadows.length === 0 ? (
        <Section id="shadows" title="Shadows" lead="Retrievers that may take the place of this one, asked the same.">
          <Empty
            why="This pipeline has no shadow."
            todo={
              <>
                Add <code>shadow</code> with a name and a retriever to it in the config.
              </>
            }
          />
        </Section>
      ) : (
        shadows.map(({ report, changed }) => (
          <OneShadow key={report.shadow} report={report} changed={showsText ? changed : []} />
        ))
      )}
    </Page>
  );
}

function OneShadow({ report, changed }: { readonly report: ShadowReport; readonly changed: readonly ListedAnswer[] }) {
  const { shadow, verdict, golden, judged, difference } = report;
  return (
    <>
      <Section
        id={`shadow-${shadow}`}
        title={shadow}
        lead={<Sentence>{verdictSentences[verdict]}</Sentence>}
        aside={<Badge tone={tones[verdict]}>{words[verdict]}</Badge>}
      >
        {golden.length === 0 ? (
          <Empty
            why={
              judged === null
                ? 'The pipeline has no golden set, so nothing says which of the two is better.'
                : 'The pipeline has no golden set, so that judged live queries decide alone.'
            }
          />
        ) : (
          <Sets golden={golden} />
        )}
        {golden.map(({ goldenSet, evidence }) => (
          <p key={goldenSet} class="lead">
            <Sentence>{`${goldenSet}: ${evidenceSentence(evidence, difference)}`}</Sentence>
          </p>
        ))}
        {judged === null ? null : <Judged judged={judged} difference={difference} />}
        <Live report={report} />
      </Section>
      {changed.length === 0 ? null : <Changed shadow={shadow} changed={changed} />}
    </>
  );
}

function Sets({ golden }: { readonly golden: readonly ShadowOnSet[] }) {
  return (
    <Table
      caption="Beside the pipeline, on golden sets"
      columns={[
        { title: 'Golden set' },
        { title: 'Verdict' },
        { title: 'Pipeline', isNumber: true },
        { title: 'Shadow', isNumber: true },
        { title: 'Difference of nDCG, 95 % bounds', isNumber: true },
        { title: 'Finds', isNumber: true, isMinor: true },
        { title: 'Questions, runs', isNumber: true },
        { title: 'p95, ms', isNumber: true, isMinor: true },
      ]}
      rows={golden.map((one) => ({ key: one.goldenSet, cells: setCells(one) }))}
    />
  );
}

function Judged({ judged, difference }: { readonly judged: ShadowOnJudged; readonly difference: number }) {
  return (
    <>
      <Table
        caption="Beside what users got, by the judge of live queries"
        columns={[
          { title: 'Measure' },
          { title: 'Verdict' },
          { title: 'Users got', isNumber: true },
          { title: 'Shadow', isNumber: true },
          { title: 'Difference, bounds at every look', isNumber: true },
          { title: 'Finds', isNumber: true, isMinor: true },
          { title: 'Queries, days', isNumber: true },
          { title: 'Left out', isNumber: true, isMinor: true },
        ]}
        rows={[{ key: 'judged', cells: judgedCells(judged) }]}
      />
      <p class="lead">
        <Sentence>{`Judged live relevance: ${judgedEvidence(judged, difference)}`}</Sentence>
      </p>
    </>
  );
}

function judgedCells(judged: ShadowOnJudged) {
  const { k, verdict, baseline, candidate, difference, smallestDetectableDifference: smallest } = judged;
  return [
    `nDCG@${k}`,
    <Badge tone={tones[verdict]}>{words[verdict]}</Badge>,
    baseline === null ? <Missing>no day is over yet</Missing> : score(baseline),
    candidate === null ? '' : score(candidate),
    difference === null ? '' : <Bounded {...difference} show={signed} />,
    smallest === null ? '' : score(smallest),
    `${count(judged.queries)}, ${count(judged.days)}`,
    count(judged.leftOut),
  ];
}

function setCells({ goldenSet, verdict, by, looks, latestRun, latency95 }: ShadowOnSet) {
  const run = by?.runId ?? latestRun?.id;
  const name = run === undefined ? goldenSet : <a href={runPath(run)}>{goldenSet}</a>;
  const badge = <Badge tone={tones[verdict]}>{words[verdict]}</Badge>;
  if (by === null) return [name, badge, '', '', <Missing>{latestRun?.status ?? 'not asked yet'}</Missing>, '', '', ''];
  const smallest = looks.at(-1)?.smallestDetectableDifference ?? null;
  const [before, after] = [latency95.pipeline, latency95.shadow];
  return [
    name,
    badge,
    score(by.baseline),
    score(by.candidate),
    <Bounded value={by.difference} low={by.ciLow} high={by.ciHigh} show={signed} />,
    smallest === null ? '' : score(smallest),
    `${count(by.n)} × ${by.runs}`,
    before === null || after === null ? '' : `${before.toFixed(0)} → ${after.toFixed(0)}`,
  ];
}

function Live({ report: { live, calls } }: { readonly report: ShadowReport }) {
  const { overlap, changed, latency } = live;
  const none = <Missing>none yet</Missing>;
  return (
    <Facts
      facts={[
        {
          name: `Live queries asked in ${live.days} days`,
          value: count(live.asked),
          ...(live.failed === 0 ? {} : { detail: `${count(live.failed)} of them failed.` }),
        },
        {
          name: 'Rank-biased overlap with what users got',
          value: overlap === null ? none : <Bounded {...overlap} />,
          detail: '1 is the same list.',
        },
        {
          name: 'Lists that differ',
          value: changed === null ? none : <Bounded {...changed} show={(share) => percent(share)} />,
        },
        {
          name: 'Latency on live queries, median and p95',
          value: latency === null ? none : `${latency.median.toFixed(0)} ms, ${latency.p95.toFixed(0)} ms`,
        },
        {
          name: 'Questions today (UTC)',
          value: `${count(calls.today)} of ${count(calls.maxPerDay)}`,
          ...(calls.dollarsPerThousand === 0
            ? {}
            : {
                detail: `$${calls.dollarsToday.toFixed(2)} today, $${calls.dollarsPerThousand.toFixed(2)} a thousand.`,
              }),
        },
      ]}
    />
  );
}

function Changed({ shadow, changed }: { readonly shadow: string; readonly changed: readonly ListedAnswer[] }) {
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
          cells: [text, overlap === null ? '' : score(overlap), <Ids ids={shownIds} />, <Ids ids={documentIds} />],
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
