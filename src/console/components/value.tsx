/** A measured value with its bounds, or the reason why there is none. */
import type { ComponentChildren } from 'preact';
import { score } from '../format.ts';

interface BoundedProps {
  readonly value: number;
  readonly low: number | null;
  readonly high: number | null;
  readonly show?: (value: number) => string;
}

export function Bounded({ value, low, high, show = score }: BoundedProps) {
  return (
    <span class="bounded">
      <strong>{show(value)}</strong>
      {low === null || high === null ? null : <Bounds low={low} high={high} show={show} />}
    </span>
  );
}

export function Bounds({ low, high, show = score }: Omit<BoundedProps, 'value' | 'low' | 'high'> & Range) {
  return (
    <span class="bounds">
      {show(low)} to {show(high)}
    </span>
  );
}

interface Range {
  readonly low: number;
  readonly high: number;
}

/** Stands where a value would. */
export function Missing({ children }: { readonly children: ComponentChildren }) {
  return <span class="missing">{children}</span>;
}
