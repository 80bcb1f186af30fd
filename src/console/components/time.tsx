/** Times: when it was, and how long ago that is. */
import { duration, minute, second } from '../format.ts';

export function Instant({ at, exact = false }: { readonly at: Date; readonly exact?: boolean }) {
  return (
    <time class="instant" datetime={at.toISOString()}>
      {exact ? second(at) : minute(at)}
    </time>
  );
}

/** Says `too old` in words beside the age, never by colour alone. */
export function Age({
  seconds,
  isTooOld = false,
}: {
  readonly seconds: number;
  readonly isTooOld?: boolean;
}) {
  return (
    <span class={isTooOld ? 'age old' : 'age'}>
      {duration(seconds)}
      {' ago'}
      {isTooOld ? <span class="old-mark">, too old</span> : null}
    </span>
  );
}

/** Since when something is as it is, and for how long. */
export function Lasting({ from, seconds }: { readonly from: Date; readonly seconds: number }) {
  return (
    <>
      <Instant at={from} /> <span class="of lasting">{duration(seconds)}</span>
    </>
  );
}

export function agoOf(at: Date, now: Date): number {
  return (now.getTime() - at.getTime()) / 1000;
}
