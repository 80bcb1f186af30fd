import { count, formatValue, plural } from '../../../core/format.ts';
import type { PartsChart } from '../../../report/model/charts.ts';
import type { Content } from '../../../report/model/content.ts';
import { missing, section, table, value } from '../../../report/model/show.ts';
import { ANSWER } from '../../rules/run.ts';
import type { MetricJson, RunSummaryJson } from '../../run-summary-schema.ts';

type Stages = NonNullable<RunSummaryJson['stages']>;

const share = ({ mean, ci_low, ci_high }: MetricJson) => value(mean, 'share', ci_low, ci_high);

export function stagesSection({ stages }: RunSummaryJson): Content {
  if (stages === null) return null;
  const { k, n, failed, unreported, steps } = stages;
  const rest = unreported === 0 ? '' : ` Excluded because their responses report no stages: ${count(unreported)}.`;
  return section(
    'stages',
    'Loss by stage',
    {
      lead: `Mean share of the relevant documents that each stage keeps or loses, over ${plural(n, 'query', 'queries')}, with 95 % confidence intervals. In the final results, only the top ${k} documents count; in earlier stages, all documents that the stage passes on count. ${count(failed)} of these queries failed, so all of their documents count as lost.${rest}`,
    },
    lossBar(stages),
    table('Stages of the retriever', steps, [
      ['Stage', ({ name }) => name.replaceAll('_', ' ')],
      ['Keeps', ({ recall }) => share(recall), 'number'],
      ['Loses', ({ lost }) => share(lost), 'number'],
      [
        `Queries whose relevant documents moved into or out of the top ${k}`,
        ({ moved }) => (moved === null ? missing('first stage') : movedWords(moved)),
      ],
      [
        'Takes, p95',
        ({ latency_p95_ms: ms }) => (ms === null ? missing('not reported') : value(ms, 'ms')),
        'minor number',
      ],
    ]),
  );
}

function movedWords(moved: NonNullable<Stages['steps'][number]['moved']>): string {
  const { difference, ci_low, ci_high, p } = moved;
  const [shown, low, high] = [difference, ci_low, ci_high].map((share) => formatValue(share, 'points'));
  return `${count(moved.in)} in, ${count(moved.out)} out: hit rate ${shown} (${low} to ${high}, p ${formatValue(p, 'p')})`;
}

function lossBar({ steps, lost_to_failures: failures }: Stages): PartsChart {
  const answer = steps.find(({ name }) => name === ANSWER);
  const lost = steps.toReversed().map(({ name, lost: { mean } }, place) => {
    const words = name === ANSWER ? 'cut off or ranked too low' : `lost by ${name.replaceAll('_', ' ')}`;
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
    { name: 'failed', share: failures.mean, tone: 'none' },
  ];
  return { kind: 'parts', id: 'loss-bar', title: 'Relevant documents', parts: all.filter(({ share }) => share > 0) };
}
