/** Whether the golden sets of a review can be trusted to stand for what people ask. */

import { Empty, Section } from '../../console/components/section.tsx';
import { Table } from '../../console/components/table.tsx';
import { Bounded, Missing } from '../../console/components/values.tsx';
import { count, plural } from '../../console/format.ts';
import type { Review, ReviewedSet } from '../../status/read-review.ts';
import { percent } from '../../text/number-text.ts';
import { largestCutoff, scoreOf } from './scores-part.tsx';

export function GoldenHealthPart({ review: { sets } }: { readonly review: Review }) {
  return (
    <Section
      id="golden-health"
      title="Health of the golden sets"
      lead="Stale labels are judged documents that left the store; judged is the share of what was retrieved that has a label; represents is the share of live queries with a golden query near by."
    >
      {sets.length === 0 ? (
        <Empty why="No golden set is measured on this pipeline." />
      ) : (
        <Table
          caption="Golden sets, and what their labels are worth"
          columns={[
            { title: 'Golden set' },
            { title: 'Queries', isNumber: true },
            { title: 'Judgments', isNumber: true, isMinor: true },
            { title: 'Stale labels', isNumber: true },
            { title: 'Judged', isNumber: true },
            { title: 'Represents', isNumber: true },
          ]}
          rows={sets.map((set) => ({ key: set.goldenSet, cells: cellsOf(set) }))}
        />
      )}
    </Section>
  );
}

function cellsOf({ goldenSet, version, last, representativeness }: ReviewedSet) {
  const unjudged = scoreOf(last?.scores ?? [], 'unjudged', largestCutoff(last?.scores ?? []));
  return [
    <>
      {goldenSet}
      {version === null ? null : (
        <span class="severity">
          version {version.version}
          {version.origin === 'generated' ? ', questions by a model' : ''}
        </span>
      )}
    </>,
    version === null ? <Missing>none</Missing> : count(version.queries),
    version === null ? <Missing>none</Missing> : count(version.judgments),
    <StaleLabels last={last} />,
    unjudged === undefined ? (
      <Missing>no run</Missing>
    ) : (
      <Bounded value={1 - unjudged.mean} low={1 - unjudged.ciHigh} high={1 - unjudged.ciLow} show={percent} />
    ),
    representativeness === null ? (
      <Missing>not measured</Missing>
    ) : (
      <Bounded
        value={representativeness.value}
        low={representativeness.ciLow}
        high={representativeness.ciHigh}
        show={percent}
      />
    ),
  ];
}

function StaleLabels({ last }: Pick<ReviewedSet, 'last'>) {
  if (last === null) return <Missing>no run</Missing>;
  const { probed, stale, deadQueries, gap } = last.run.labels;
  if (probed === null || stale === null) return <Missing>{gap === null ? 'not looked for' : gap}</Missing>;
  const share = probed === 0 ? 0 : stale / probed;
  return (
    <>
      <strong>{percent(share)}</strong>
      <span class="severity">
        {count(stale)} of {count(probed)}
        {deadQueries === null || deadQueries === 0
          ? ''
          : `; ${plural(deadQueries, 'query', 'queries')} lost all`}
      </span>
    </>
  );
}
