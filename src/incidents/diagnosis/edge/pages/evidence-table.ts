/** Evidence of a diagnosis as rows: the values before and at the time of the alert. */
import type { Content, Table } from '../../../../report/model/content.ts';
import { badge, more, strong, table, value, why } from '../../../../report/model/show.ts';
import type { Diagnosis } from '../../rules/incident.ts';
import type { Sign } from '../../rules/signs.ts';
import { shownSigns } from './shown-signs.ts';

/** Maximum number of rows that are visible without expanding the table. */
const MAX_ROWS = 5;

/** @param supporting signs that are listed first */
export function evidenceTable(supporting: readonly Sign[], opposing: readonly Sign[], diagnosis: Diagnosis): Content {
  const signs = [...supporting, ...opposing];
  const rows = (caption: string, shown: readonly Sign[]): Table =>
    table(caption, shown, [
      [
        'Evidence',
        (sign) => [
          strong(shownSigns[sign.name][0]),
          !supporting.includes(sign) && [' ', badge('against this cause', 'warning')],
          why(sign.sentence, ' ', shownSigns[sign.name][1](diagnosis)),
        ],
      ],
      [
        'Before',
        ({ values }) => values !== undefined && values.before !== null && value(values.before, values.unit),
        'number',
      ],
      ['Now', ({ values }) => values !== undefined && strong(value(values.now, values.unit)), 'number'],
    ]);
  const rest = signs.slice(MAX_ROWS);
  return [
    rows('Evidence of the diagnosis', signs.slice(0, MAX_ROWS)),
    rest.length > 0 && more(`More evidence (${rest.length})`, rows('More evidence for the diagnosis', rest)),
  ];
}
