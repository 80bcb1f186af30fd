/** What the stages of a retriever do to live queries, on the page of the traffic. */
import { Section } from '../../console/components/section.tsx';
import { Table } from '../../console/components/table.tsx';
import { Bounded, Missing } from '../../console/components/values.tsx';
import { compact, count, plural } from '../../console/format.ts';
import { percent } from '../../text/spelling.ts';
import type { MeasuredStage } from '../rules/live-stages.ts';

export function LiveStagesSection({
  stages,
  queries,
}: {
  readonly stages: readonly MeasuredStage[];
  readonly queries: number;
}) {
  return (
    <Section
      id="stages"
      title="Stages of the retriever"
      lead={`Of ${plural(queries, 'sampled query', 'sampled queries')} of the trailing window, weighted, with 95 % bounds. What a stage loses of the relevant documents takes judgments: golden runs tell it.`}
    >
      <Table
        caption="Stages of live queries"
        columns={[
          { title: 'Stage' },
          { title: 'Takes, p95', isNumber: true },
          { title: 'Documents', isNumber: true },
          { title: 'Leaves nothing', isNumber: true },
          { title: 'Of the answer among its first', isNumber: true },
          { title: 'n', isNumber: true, isMinor: true },
        ]}
        rows={stages.map((stage) => ({ key: stage.name, cells: cellsOf(stage) }))}
      />
    </Section>
  );
}

function cellsOf({ name, n, latencyP95Ms, documents, emptied, answered }: MeasuredStage) {
  return [
    name.replaceAll('_', ' '),
    shown(latencyP95Ms, (ms) => `${count(Math.round(ms))} ms`),
    shown(documents, compact),
    shown(emptied, percent),
    shown(answered, percent),
    count(n),
  ];
}

function shown(bounded: MeasuredStage['documents'], show: (value: number) => string) {
  if (bounded === null) return <Missing>not told</Missing>;
  return <Bounded value={bounded.value} low={bounded.ciLow} high={bounded.ciHigh} show={show} />;
}
