/** The status page: a card for each pipeline, worst status first. */
import { causeTexts } from '../../incidents/diagnosis/rules/cause.ts';
import type { Incident } from '../../incidents/diagnosis/rules/incident.ts';
import { silenceNotice } from '../../incidents/notifications/edge/silence-panel.ts';
import { incidentPath, pipelinePath } from '../console/links.ts';
import type { TrendChart } from '../model/charts.ts';
import type { Content, PageContent, Section } from '../model/content.ts';
import {
  age,
  button,
  empty,
  group,
  lead,
  link,
  list,
  section,
  styledParagraph,
  time,
  verdictBadge,
} from '../model/show.ts';
import { firingPanel, verdictBadges } from './firing.ts';
import type { readStatusPage } from './overview-reads.ts';
import { type PipelineStatus, verdictsWorstFirst } from './pipeline-status.ts';
import { qualityCharts } from './quality-charts.ts';

type StatusPageData = Awaited<ReturnType<typeof readStatusPage>>;

export function statusPage(data: StatusPageData): PageContent {
  const { cards, states, filter, found, page, pageSize, range } = data;
  return {
    title: 'Status',
    pipeline: null,
    section: 'status',
    aside: list(
      'tally',
      verdictsWorstFirst.flatMap((state) => {
        const total = states.filter((one) => one === state).length;
        return total === 0 ? [] : [[total, ' ', verdictBadge(state)]];
      }),
    ),
    content:
      states.length === 0
        ? empty(
            'No pipeline is configured.',
            'Add your retriever under `pipelines` in `recalld.yaml`, validate the file with `recalld config check`, and restart the daemon.',
          )
        : [
            states.length > 1 && filterForm(filter),
            found === 0 && lead(`No pipeline has "${filter}" in its name. `, link('All pipelines', '/')),
            cards.map((card) => cardOf(card, range)),
            found > pageSize && {
              kind: 'pager',
              what: 'pipelines',
              page,
              pageSize,
              total: found,
              link: (text, to) => link(text, '/', { filter, page: to }),
            },
          ],
  };
}

function filterForm(filter: string): Content {
  return {
    kind: 'form',
    action: '/',
    method: 'get',
    content: [
      {
        kind: 'input',
        type: 'text',
        name: 'filter',
        label: 'Filter by name',
        value: filter,
        attributes: { type: 'search', 'data-filters': '.panel.state' },
      },
      button('Filter'),
    ],
  };
}

function cardOf(
  { status, incident, last, quality, silenced }: StatusPageData['cards'][number],
  range: StatusPageData['range'],
): Section {
  const { pipeline, state } = status;
  return section(
    `p-${pipeline}`,
    link(pipeline, pipelinePath(pipeline)),
    { tone: state, aside: verdictBadges(status, incident) },
    silenced !== null && silenceNotice(silenced),
    firingPanel(status, incident, true),
    group('small-charts', qualityCharts(status, quality, range, { size: 'small' }).filter(isInformative)),
    styledParagraph('quiet', lastRun(status), incident === null && lastIncident(last)),
  );
}

/** Returns false for a chart without values and without a threshold, because such a chart would only take up space. */
function isInformative({ series, levels = [] }: TrendChart): boolean {
  return levels.length > 0 || series.some(({ points }) => points.length > 0);
}

function lastRun({ pipeline, golden }: PipelineStatus): Content {
  const finished = golden.flatMap(({ completed }) => (completed === null ? [] : [completed]));
  const [newest] = finished.toSorted((a, b) => b.finishedAt.getTime() - a.finishedAt.getTime());
  const runs = link('Last golden run', pipelinePath(pipeline, 'golden'));
  return newest === undefined
    ? 'No golden run has completed yet.'
    : [runs, ' ', age(newest.finishedAt, newest.isTooOld), '.'];
}

function lastIncident(last: Incident | null): Content {
  if (last === null) return ' No incident yet.';
  return [
    ' ',
    link('Last incident', incidentPath(last.id)),
    ' ',
    time(last.openedAt),
    `: ${causeTexts[last.cause].title}.`,
  ];
}
