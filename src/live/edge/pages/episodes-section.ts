/** Section of the traffic page about agent turns: their measures, and the steps of the worst turns. */
import { count, plural } from '../../../core/format.ts';
import { measureRow } from '../../../measures/rules/measure-table.ts';
import type { Content, Section } from '../../../report/model/content.ts';
import { latestSize, latestValue } from '../../../report/model/measures.ts';
import {
  code,
  documentId,
  heading,
  missing,
  more,
  query,
  section,
  strong,
  styledParagraph,
  table,
  time,
  verbatim,
} from '../../../report/model/show.ts';
import type { MeasurementStatus } from '../../../report/status/pipeline-status.ts';
import { episodeMeasures } from '../../rules/episodes.ts';
import { isWasted, type readTrafficPage } from './traffic-reads.ts';

type Episode = Awaited<ReturnType<typeof readTrafficPage>>['episodes'][number];
type Step = Episode['steps'][number];

const SHOWN_DOCUMENTS = 5;

/** @param latest most recent measures of all traffic; null for a pipeline without episodes */
export function episodesSection(latest: readonly MeasurementStatus[], worst: readonly Episode[]): Section | null {
  const measured = episodeMeasures.flatMap((measure) => {
    const found = latest.find((one) => one.measure === measure);
    return found === undefined ? [] : [found];
  });
  if (measured.length === 0 && worst.length === 0) return null;
  return section(
    'episodes',
    'Agent turns',
    {
      lead: 'The retrievals of one turn form an episode. Values are measured over a trailing window and shown with their 95 % CI.',
    },
    measured.length > 0 &&
      table('Measures of episodes', measured, [
        ['Measure', ({ measure }) => measureRow(measure).title],
        ['Value', (one) => latestValue({ latest: one, isTooOld: one.isTooOld }), 'number'],
        ['n', (one) => latestSize({ latest: one, isTooOld: one.isTooOld }), 'minor number'],
      ]),
    worst.length > 0 && [
      heading(3, 'Episodes with the largest number of useless retrievals'),
      worst.map((episode, place) => more(summaryOf(episode), stepsOf(episode, place))),
    ],
  );
}

const MAX_SUMMARY = 80;

function summaryOf({ id, originalText, steps, wasted, tally }: Episode): string {
  const parts = [
    ...(tally.repeated > 0 ? [`${count(tally.repeated)} repeated`] : []),
    ...(tally.empty > 0 ? [`${count(tally.empty)} empty`] : []),
  ];
  const name = originalText ?? id;
  const short = name.length > MAX_SUMMARY ? `${name.slice(0, MAX_SUMMARY)}...` : name;
  const useless = `${wasted} of ${plural(steps.length, 'retrieval')} returned nothing new`;
  return `${short} (${[useless, ...parts].join(', ')})`;
}

function stepsOf({ id, startedAt, originalText, steps, cited }: Episode, place: number): Content {
  return [
    originalText !== null && styledParagraph('asked', verbatim(originalText)),
    styledParagraph('quiet', time(startedAt), ', episode ', code(id)),
    table(
      `Retrievals of episode ${place + 1}`,
      [...steps.entries()],
      [
        ['Step', ([index]) => index + 1],
        ['Query', ([, step]) => query(step.id, step.text)],
        ['Documents', ([, step]) => new Set(step.documentIds).size, 'number'],
        ['New', ([, step]) => newDocuments(step)],
        ['Repeated', ([, step]) => repeated(step)],
        cited.size === 0
          ? null
          : [
              'Cited',
              ([, step]) => documents([...new Set(step.documentIds)].filter((document) => cited.has(document))),
            ],
      ],
    ),
  ];
}

function newDocuments(step: Step): Content {
  return step.documentIds.length === 0 ? missing('nothing found') : documents(step.newDocumentIds);
}

function documents(ids: readonly string[]): Content {
  if (ids.length === 0) return missing('none');
  const hidden = ids.length - SHOWN_DOCUMENTS;
  return [ids.slice(0, SHOWN_DOCUMENTS).map((id) => [documentId(id), ' ']), hidden > 0 && `and ${hidden} more`];
}

function repeated(step: Step): Content {
  if (step.outcome === 'error' || step.outcome === 'timeout') return 'failed';
  if (step.repeats !== null) return strong(`step ${step.repeats + 1}`);
  return isWasted(step) && step.documentIds.length > 0 ? missing('nothing new') : missing('no');
}
