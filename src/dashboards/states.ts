/** Verdicts and other states as text and colour. */
import { MappingType, type ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard';

/** A verdict as a number, the worse the higher, so that one series shows it. */
export const verdictNumbers = { ok: 0, warning: 1, no_data: 2, critical: 3 } as const;

export const verdictTexts: readonly ValueMapping[] = [
  {
    type: MappingType.ValueToText,
    options: {
      '0': { text: 'ok', color: 'green', index: 0 },
      '1': { text: 'warning', color: 'yellow', index: 1 },
      '2': { text: 'no data', color: 'orange', index: 2 },
      '3': { text: 'critical', color: 'red', index: 3 },
    },
  },
];

/** The same words as PostgreSQL has them. */
export const verdictColors: readonly ValueMapping[] = [
  {
    type: MappingType.ValueToText,
    options: {
      ok: { color: 'green', index: 0 },
      no_change: { color: 'green', index: 1 },
      improvement: { color: 'blue', index: 2 },
      inconclusive: { color: 'yellow', index: 3 },
      warning: { color: 'yellow', index: 4 },
      no_data: { color: 'orange', index: 5 },
      critical: { color: 'red', index: 6 },
      regression: { color: 'red', index: 7 },
    },
  },
];
