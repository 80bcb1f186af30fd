/** Actions of users on an incident: acknowledge it, add a note, or mark its cause as right or wrong. */
import { plural } from '../../../../core/format.ts';
import type { Annotation } from '../../../../live/deployments/deployments.ts';
import { noteForm, notes } from '../../../../live/deployments/edge/deployments-page.ts';
import { incidentPath } from '../../../../report/console/links.ts';
import type { Content, Form, Table } from '../../../../report/model/content.ts';
import {
  button,
  group,
  missing,
  paragraph,
  strong,
  styledParagraph,
  table,
  time,
  value,
} from '../../../../report/model/show.ts';
import type { Reliability } from '../../incident-acts.ts';
import { causeTexts, namedCauses } from '../../rules/cause.ts';
import type { Incident } from '../../rules/incident.ts';

/**
 * @param known how often users marked a diagnosed cause as right, by confidence
 * @param silence form for silencing the pipeline
 */
export function incidentActs(
  incident: Incident,
  noted: readonly Annotation[],
  known: readonly Reliability[],
  silence: Content,
): Content {
  const { id, closedAt, acknowledgedAt, acknowledgedBy, mark } = incident;
  return [
    acknowledgedAt !== null &&
      styledParagraph(
        'quiet',
        `Acknowledged${acknowledgedBy === null ? '' : ` by ${acknowledgedBy}`}, `,
        time(acknowledgedAt),
      ),
    mark !== null && styledParagraph('quiet', ...markWords(mark)),
    notes(noted),
    group(
      'acts',
      closedAt === null && acknowledgedAt === null && acknowledgeForm(id),
      noteForm('incident', id, 'this incident', incidentPath(id)),
      markForm(incident),
      silence,
    ),
    reliabilityLine(incident, known),
  ];
}

function markWords({ isRight, cause, actualCause, markedBy, markedAt }: NonNullable<Incident['mark']>): Content[] {
  const marked = `"${causeTexts[cause].title}" marked as ${isRight ? 'right' : 'wrong'} by ${markedBy}, `;
  return [
    marked,
    time(markedAt),
    actualCause !== null && ['. Actual cause: ', strong(causeTexts[actualCause].title)],
    '.',
  ];
}

function acknowledgeForm(id: string): Form {
  return {
    kind: 'form',
    action: '/actions/acknowledge',
    hidden: { back: incidentPath(id), id },
    content: button('Acknowledge'),
  };
}

function markForm({ id, cause, mark }: Incident): Form {
  const { title } = causeTexts[cause];
  return {
    kind: 'form',
    action: '/actions/mark-cause',
    hidden: { back: incidentPath(id), id, cause },
    fold: { summary: mark === null ? 'Was this the cause?' : 'Change the mark' },
    content: [
      paragraph(cause === 'unknown' ? 'recalld named no cause.' : ['Diagnosed cause: ', strong(title), '.']),
      cause !== 'unknown' && button('This was the cause', { name: 'right', value: 'yes' }),
      {
        kind: 'input',
        type: 'select',
        name: 'actual_cause',
        label: cause === 'unknown' ? 'What was the cause?' : 'If not, what was the cause?',
        options: [
          { value: '', text: 'not in this list, or unknown' },
          ...namedCauses.filter((one) => one !== cause).map((one) => ({ value: one, text: causeTexts[one].title })),
        ],
      },
      button(cause === 'unknown' ? 'Save' : 'It was not', { name: 'right', value: 'no' }),
    ],
  };
}

function reliabilityLine({ confidence, cause }: Incident, known: readonly Reliability[]): Content {
  const own = known.find((one) => one.confidence === confidence);
  if (own === undefined || own.marked === 0 || cause === 'unknown') return null;
  return styledParagraph(
    'quiet',
    `Users marked ${plural(own.marked, `${confidence}-confidence cause`)}, ${own.right} of them as right.`,
  );
}

export function reliabilityTable(items: readonly Reliability[]): Table {
  return table('How often users marked the diagnosed cause as right', items, [
    ['Confidence', ({ confidence }) => confidence],
    ['Marked', ({ marked }) => marked, 'number'],
    ['Right', ({ right }) => right, 'number'],
    [
      'Share (95 % CI)',
      ({ share, ciLow, ciHigh }) => (share === null ? missing('none marked') : value(share, 'share', ciLow, ciHigh)),
      'number',
    ],
  ]);
}
