/** Shows silences on pages: a note that a silence is active, a form to add a silence, and a list. */
import { minute } from '../../../core/format.ts';
import type { Content, ContentNode, Form, Table } from '../../../report/model/content.ts';
import { button, styledParagraph, table, time } from '../../../report/model/show.ts';
import type { Silence } from '../rules/silence.ts';

export const silenceLengths: Readonly<Record<string, string>> = {
  '30m': '30 minutes',
  '2h': '2 hours',
  '8h': '8 hours',
  '1d': '1 day',
  '7d': '7 days',
};

/**
 * @param silences current and planned silences of the pipeline
 * @param back path that the forms return to
 */
export function silencePanel(pipeline: string, silences: readonly Silence[], now: Date, back: string): Content {
  return [
    silences.map((silence) => [
      silence.startsAt <= now
        ? silenceNotice(silence)
        : styledParagraph(
            'quiet',
            `Silence planned from ${minute(silence.startsAt)} to ${minute(silence.endsAt)} UTC by ${silence.createdBy}: ${silence.reason}`,
          ),
      endForm(silence, back),
    ]),
    !silences.some(({ startsAt }) => startsAt <= now) && addForm(pipeline, back),
  ];
}

export function silenceNotice({ endsAt, createdBy, reason }: Silence): ContentNode {
  return styledParagraph('silenced', `Silenced until ${minute(endsAt)} UTC by ${createdBy}: ${reason}`);
}

function addForm(pipeline: string, back: string): Form {
  return {
    kind: 'form',
    action: '/actions/silence',
    hidden: { back, pipeline },
    fold: { summary: 'Silence', label: `Silence ${pipeline}` },
    content: [
      'Suppresses messages and alerts about this pipeline. If an incident is still open when the silence ends, recalld reports it at that time.',
      {
        kind: 'input',
        type: 'select',
        name: 'for',
        label: 'For',
        value: '2h',
        options: Object.entries(silenceLengths).map(([value, text]) => ({ value, text })),
      },
      { kind: 'input', type: 'text', name: 'reason', label: 'Reason', attributes: { required: true, maxlength: 500 } },
      button('Silence'),
    ],
  };
}

function endForm({ id, pipeline }: Silence, back: string): Form {
  return {
    kind: 'form',
    action: '/actions/end-silence',
    hidden: { back, id },
    content: button('End the silence', { 'aria-label': `End the silence for ${pipeline}` }),
  };
}

export function silenceTable(silences: readonly Silence[], now: Date): Table {
  return table('Silences', silences, [
    ['Id', ({ id }) => id],
    ['Pipeline', ({ pipeline }) => pipeline],
    ['From (UTC)', ({ startsAt }) => time(startsAt)],
    ['To (UTC)', ({ endsAt }) => time(endsAt)],
    ['Status', ({ startsAt }) => (startsAt <= now ? 'active' : 'planned')],
    ['Reason', ({ reason }) => reason],
    ['By', ({ createdBy }) => createdBy],
  ]);
}
