/** Result file of `npm run bench`. */
import path from 'node:path';
import type { Provenance } from '../result-file.ts';
import type { RowResult } from './row.ts';

export interface SpeedResult {
  readonly provenance: Provenance;
  /** Load average of the machine over the minute before the start; 0 means that nothing else was running. */
  readonly load: number;
  readonly rows: readonly RowResult[];
  readonly curves: readonly Curve[];
}

export interface Curve {
  readonly what: string;
  readonly size: string;
  readonly points: readonly { readonly size: number; readonly ms: number }[];
  /** Exponent x in cost = constant * size^x, fitted to the logarithms by least squares. */
  readonly exponent: number;
}

export const speedFile = path.resolve(import.meta.dirname, '../results/speed.json');
