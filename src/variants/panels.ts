/** Panels of variants, on the dashboard of live traffic. */
import type { GaugeGraph } from '../dashboards/panels.ts';

export const variants: readonly GaugeGraph[] = [
  {
    metric: 'recalld_variant_difference',
    title: 'Arm of a variant less the first',
    unit: 'none',
    width: 12,
    hasBoundLines: true,
  },
  { metric: 'recalld_variant_sessions', title: 'Sessions of each arm (n)', unit: 'short', width: 12, min: 0 },
  { metric: 'recalld_variant_verdict', title: 'What is said of arms', unit: 'none', width: 12, min: 0, max: 1 },
  { metric: 'recalld_variant_split', title: 'Split of the sessions', unit: 'none', width: 12, min: 0, max: 1 },
];
