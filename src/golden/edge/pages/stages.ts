/** What the stages of the retriever kept and lost of the relevant documents of a run. */
import { count, formatValue, plural } from '../../../core/format.ts';
import type { PartsChart } from '../../../report/model/charts.ts';
import type { Section } from '../../../report/model/content.ts';
import { missing, section, table, value } from '../../../report/model/show.ts';
import { ANSWER, type MovedQuestions, type RunStages, type StageStep } from '../../rules/run.ts';

export function stagesSection(stages: RunStages): Section {
  const { k, n, untold, steps } = stages;
  const left =
    untold === 0 ? '' : ` ${count(untold)} more were answered without a word of any stage, and are left out.`;
  const share = ({ mean, ciLow, ciHigh }: StageStep['recall']) => value(mean, 'share', ciLow, ciHigh);
  return section(
    'stages',
    'Loss by stage',
    {
      lead: `Where the relevant documents of ${plural(n, 'question')} stay: means of their shares with 95 % bounds, of the first ${k} of the answer and of all that earlier stages hand on. A question that failed loses all of its own.${left}`,
    },
    lossBar(stages),
    table('Stages of the retriever', steps, [
      ['Stage', ({ name }) => name.replaceAll('_', ' ')],
      ['Holds', ({ recall }) => share(recall), 'number'],
      ['Loses', ({ lost }) => share(lost), 'number'],
      [
        `Questions in and out of the first ${k}`,
        ({ moved }) => (moved === null ? missing('nothing before it') : movedWords(moved)),
      ],
      [
        'Takes, p95',
        ({ latencyP95Ms }) => (latencyP95Ms === null ? missing('not told') : value(latencyP95Ms, 'ms')),
        'minor number',
      ],
    ]),
  );
}

function movedWords({ in: came, out: went, difference, ciLow, ciHigh, p }: MovedQuestions): string {
  const [shown, low, high] = [difference, ciLow, ciHigh].map((share) => formatValue(share, 'points'));
  return `${count(came)} in, ${count(went)} out: hit rate ${shown} (${low} to ${high}, p ${p < 0.001 ? 'below 0.001' : p.toFixed(3)})`;
}

/** What was found first, then what each stage lost, the last before the first. */
function lossBar({ steps, lostToFailures }: RunStages): PartsChart {
  const answer = steps.find(({ name }) => name === ANSWER);
  const lost = steps.toReversed().map(({ name, lost: { mean } }, place) => {
    const words = name === ANSWER ? 'cut off or reordered away' : `lost by ${name.replaceAll('_', ' ')}`;
    const isFirst = place === steps.length - 1;
    return {
      name: isFirst ? `never in ${name.replaceAll('_', ' ')}` : words,
      share: mean,
      tone: `s${2 + (place % 3)}`,
    };
  });
  const all = [
    { name: 'found', share: answer?.recall.mean ?? 0, tone: 's1' },
    ...lost,
    { name: 'failed', share: lostToFailures.mean, tone: 'none' },
  ];
  return { kind: 'parts', id: 'loss-bar', title: 'Relevant documents', parts: all.filter(({ share }) => share > 0) };
}
