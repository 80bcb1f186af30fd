/** The variants of a service side by side, on the page of its traffic. */
import { Badge, Bounded, Missing, Section, Sentence, Table, type Tone } from '../console/components.tsx';
import { count } from '../console/format.ts';
import { percent } from '../text/spelling.ts';
import { type ArmComparison, type ComparedArm, FALSE_CALLS, type VariantVerdict } from './rules/compare-arms.ts';
import {
  leftOutSentences,
  measureTitles,
  splitSentence,
  type VariantReport,
  verdictSentences,
} from './variants-reads.ts';

const tones: Readonly<Record<VariantVerdict, Tone>> = {
  worse: 'critical',
  better: 'good',
  alike: 'ok',
  undecided: 'neutral',
  no_data: 'no_data',
  withheld: 'warning',
};

const words: Readonly<Record<VariantVerdict, string>> = {
  worse: 'Worse',
  better: 'Better',
  alike: 'As good',
  undecided: 'Undecided',
  no_data: 'No data',
  withheld: 'Withheld',
};

export function VariantsSection({ report }: { readonly report: VariantReport }) {
  const { plan, split, arms, days } = report;
  const control = plan.arms[0]?.name ?? '';
  const isOff = split.verdict === 'mismatch';
  return (
    <Section
      id="variants"
      title="Variants"
      lead={<Sentence>{splitSentence(split)}</Sentence>}
      {...(isOff ? { aside: <Badge tone="warning">Split is off</Badge> } : {})}
    >
      {leftOutSentences(report).map((sentence) => (
        <p key={sentence} class="lead">
          <Sentence>{sentence}</Sentence>
        </p>
      ))}
      {isOff || days === null ? null : (
        <>
          {arms.map((arm) => (
            <Arm key={arm.name} arm={arm} control={control} />
          ))}
          <p class="lead">
            {`Whole days from ${days.first} to ${days.last}, whatever time is shown above. All bounds hold together with ${percent(1 - FALSE_CALLS, 0)}, however often one looks.`}
          </p>
        </>
      )}
    </Section>
  );
}

function Arm({
  arm: { name, verdict, comparisons },
  control,
}: {
  readonly arm: ComparedArm;
  readonly control: string;
}) {
  return (
    <>
      <h3>
        {name} <Badge tone={tones[verdict]}>{words[verdict]}</Badge>
      </h3>
      <p class="lead">
        <Sentence>{verdictSentences[verdict]}</Sentence>
      </p>
      <Table
        caption={`${name} beside ${control}`}
        columns={[
          { title: 'Measure' },
          { title: 'Verdict' },
          { title: control, isNumber: true },
          { title: name, isNumber: true },
          { title: 'Difference, bounds', isNumber: true },
          { title: 'Sessions', isNumber: true, isMinor: true },
        ]}
        rows={comparisons.map((one) => ({ key: one.measure, cells: cellsOf(one) }))}
      />
    </>
  );
}

const points = (share: number): string => `${share < 0 ? '−' : '+'}${(100 * Math.abs(share)).toFixed(1)} %`;

function cellsOf({ measure, verdict, control, arm, difference, calledOn }: ArmComparison) {
  const none = <Missing>none</Missing>;
  return [
    measureTitles[measure],
    <>
      <Badge tone={tones[verdict]}>{words[verdict]}</Badge>
      {calledOn === null ? null : ` since ${calledOn}`}
    </>,
    control === null ? none : percent(control.value),
    arm === null ? none : percent(arm.value),
    difference === null ? (
      <Missing>too few</Missing>
    ) : (
      <Bounded value={difference.value} low={difference.low} high={difference.high} show={points} />
    ),
    `${count(control?.sessions ?? 0)}, ${count(arm?.sessions ?? 0)}`,
  ];
}
