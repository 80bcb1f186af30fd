/** What the stages of the retriever kept and lost of the relevant documents of a run: one bar, and a row for each stage. */
import { Section } from '../../console/components/section.tsx';
import { Table } from '../../console/components/table.tsx';
import { Bounded, Missing } from '../../console/components/values.tsx';
import { compact, count, plural } from '../../console/format.ts';
import { percent } from '../../text/spelling.ts';
import { ANSWER, type MovedQuestions, type RunStages, type StageStep } from '../rules/run.ts';

export function StagesSection({ stages }: { readonly stages: RunStages }) {
  const { k, n, untold, steps } = stages;
  const left =
    untold === 0 ? '' : ` ${count(untold)} more were answered without a word of any stage, and are left out.`;
  return (
    <Section
      id="stages"
      title="Loss by stage"
      lead={`Where the relevant documents of ${plural(n, 'question')} stay: means of their shares with 95 % bounds, of the first ${k} of the answer and of all that earlier stages hand on. A question that failed loses all of its own.${left}`}
    >
      <LossBar stages={stages} />
      <Table
        caption="Stages of the retriever"
        columns={[
          { title: 'Stage' },
          { title: 'Holds', isNumber: true },
          { title: 'Loses', isNumber: true },
          { title: `Questions in and out of the first ${k}` },
          { title: 'Takes, p95', isNumber: true, isMinor: true },
        ]}
        rows={steps.map((step) => ({ key: step.name, cells: cellsOf(step) }))}
      />
    </Section>
  );
}

const bounded = ({ mean, ciLow, ciHigh }: StageStep['recall']) => (
  <Bounded value={mean} low={ciLow} high={ciHigh} show={percent} />
);

function cellsOf({ name, recall, lost, moved, latencyP95Ms }: StageStep) {
  return [
    name.replaceAll('_', ' '),
    bounded(recall),
    bounded(lost),
    moved === null ? <Missing>nothing before it</Missing> : movedWords(moved),
    latencyP95Ms === null ? <Missing>not told</Missing> : `${compact(Math.round(latencyP95Ms))} ms`,
  ];
}

const share = (value: number) => `${value > 0 ? '+' : ''}${percent(value)}`;

function movedWords({ in: came, out: went, difference, ciLow, ciHigh, p }: MovedQuestions): string {
  return `${count(came)} in, ${count(went)} out: hit rate ${share(difference)} (${share(ciLow)} to ${share(ciHigh)}, p ${p < 0.001 ? 'below 0.001' : p.toFixed(3)})`;
}

interface Part {
  readonly name: string;
  readonly share: number;
  readonly tone: string;
}

/** What was found first, then what each stage lost, the last before the first. */
function partsOf({ steps, lostToFailures }: RunStages): Part[] {
  const answer = steps.find(({ name }) => name === ANSWER);
  const lost = steps.toReversed().map(({ name, lost: { mean } }, place): Part => {
    const isFirst = place === steps.length - 1;
    const words = name === ANSWER ? 'cut off or reordered away' : `lost by ${name.replaceAll('_', ' ')}`;
    return {
      name: isFirst ? `never in ${name.replaceAll('_', ' ')}` : words,
      share: mean,
      tone: `s${2 + (place % 3)}`,
    };
  });
  return [
    { name: 'found', share: answer?.recall.mean ?? 0, tone: 's1' },
    ...lost,
    { name: 'failed', share: lostToFailures.mean, tone: 'none' },
  ].filter(({ share }) => share > 0);
}

const WIDTH = 1000;
const HEIGHT = 28;
/** Narrower parts have no room for their share. */
const MIN_LABELLED = 0.06;

function LossBar({ stages }: { readonly stages: RunStages }) {
  const parts = partsOf(stages);
  const starts = parts.map((_, place) => parts.slice(0, place).reduce((sum, { share }) => sum + share, 0));
  const told = parts.map(({ name, share }) => `${name} ${percent(share)}`).join(', ');
  return (
    <figure class="chart">
      <figcaption>
        Relevant documents
        <span class="legend">
          {parts.map(({ name, share, tone }) => (
            <span key={name} class={`key ${tone}`}>
              {name} {percent(share)}
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby="loss-bar">
        <title id="loss-bar">{told}</title>
        {parts.map(({ name, share, tone }, place) => {
          const x = (starts[place] ?? 0) * WIDTH;
          return (
            <g key={name} class={`bars ${tone}`}>
              <rect x={round(x)} y={0} width={round(share * WIDTH)} height={HEIGHT}>
                <title>{`${name}: ${percent(share)}`}</title>
              </rect>
              {share < MIN_LABELLED ? null : (
                <text x={round(x + 8)} y={HEIGHT - 9}>
                  {percent(share)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
