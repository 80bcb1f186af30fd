/** The first part of the weekly report: changes in the period, and what to do now. */
import { formatValue, plural, signed } from '../../../core/format.ts';
import { countEach } from '../../../core/group-by.ts';
import { staleParts } from '../../../golden/rules/labels.ts';
import { type Cause, causeTexts } from '../../../incidents/diagnosis/rules/cause.ts';
import { pageStatistics } from '../../../incidents/diagnosis/rules/incident.ts';
import type { ReportedSet, WeeklyReport } from '../weekly-report.ts';

/** Measure that represents the quality of a golden set. */
const MEASURE = 'ndcg';
const MAX_DEPLOYMENTS = 5;

export function whatChanged({ sets, incidents, density, deployments }: WeeklyReport): string[] {
  return [
    ...sets.flatMap(scoreChange),
    ...coverageChange(density.series.query_uncovered_ratio),
    incidents.length === 0
      ? 'No incidents.'
      : `${plural(incidents.length, 'incident')}: ${byCause(incidents)
          .map(([cause, number]) => `${causeTexts[cause].title}${number === 1 ? '' : ` (${number} times)`}`)
          .join('; ')}.`,
    deployments.length === 0
      ? 'No deployments.'
      : `${plural(deployments.length, 'deployment')}: ${deployments
          .slice(-MAX_DEPLOYMENTS)
          .map(({ kind, version }) => `${kind} ${version}`)
          .join(', ')}${deployments.length > MAX_DEPLOYMENTS ? ', …' : ''}.`,
  ];
}

function scoreChange({ goldenSet, runs }: ReportedSet): string[] {
  const scored = runs.flatMap(({ scores }) => scores.filter(({ measure }) => measure === MEASURE));
  const [first, last] = [scored[0], scored.at(-1)];
  if (first === undefined || last === undefined) return [`Golden set ${goldenSet}: no run completed in this period.`];
  const name = `nDCG@${last.k} on ${goldenSet}`;
  const difference = last.mean - first.mean;
  const [before, now] = [formatValue(first.mean, 'score'), formatValue(last.mean, 'score')];
  return [
    before === now ? `${name} stayed at ${now}.` : `${name} changed from ${before} to ${now} (${signed(difference)}).`,
  ];
}

function coverageChange(series: WeeklyReport['density']['series']['query_uncovered_ratio']): string[] {
  const [first, last] = [series[0], series.at(-1)];
  if (first === undefined || last === undefined) return [];
  const [before, now] = [formatValue(first.value, 'share'), formatValue(last.value, 'share')];
  return [
    before === now
      ? `${now} of live queries are poorly covered, as before.`
      : `The share of poorly covered live queries changed from ${before} to ${now}.`,
  ];
}

/** Returns the causes and their counts, the most frequent first. */
function byCause(incidents: WeeklyReport['incidents']): [Cause, number][] {
  return [...countEach(incidents.map(({ cause }) => cause))].toSorted((a, b) => b[1] - a[1]);
}

export function whatToDo({ pipeline, sets, incidents, topics, from, until }: WeeklyReport): string[] {
  const open = incidents.filter(({ closedAt }) => closedAt === null);
  const closed = incidents.filter(({ closedAt }) => closedAt !== null);
  const { suspect } = pageStatistics(incidents, from, until);
  return [
    ...open.map(({ id, cause }) => `Incident ${id} is open (${causeTexts[cause].title}): ${causeTexts[cause].action}`),
    ...byCause(closed).flatMap(([cause, number]) =>
      number < 2 || cause === 'unknown'
        ? []
        : [`${number} incidents had the same cause (${causeTexts[cause].title}): ${causeTexts[cause].action}`],
    ),
    ...sets.flatMap(({ goldenSet, last }) => {
      if (last === null)
        return [
          `Run the golden set ${goldenSet}, because none of its runs completed in this period: \`recalld golden run --pipeline ${pipeline} --set ${goldenSet}\`.`,
        ];
      const { stale, deleted, lost } = last.run.labels;
      return [
        ...(lost === null || lost === 0
          ? []
          : [
              `Re-index ${plural(lost, 'lost document')} of ${goldenSet}: \`recalld golden check\` lists ${lost === 1 ? 'it' : 'them'}.`,
            ]),
        ...(stale === null || stale === 0
          ? []
          : [
              `Update ${plural(stale, 'stale label')} of ${goldenSet} (${staleParts(stale, deleted ?? 0)}): run \`recalld golden check\`.`,
            ]),
      ];
    }),
    ...(topics.length === 0 ? [] : [`Write content for ${plural(topics.length, 'uncovered topic')}, listed below.`]),
    ...(suspect === 0
      ? []
      : [`Review ${plural(suspect, 'suspect page')}: decide for each whether it was worth waking someone.`]),
  ];
}
