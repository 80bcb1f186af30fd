/** Links to the same page over another span of time, and a form for any span. */
import { minute } from '../format.ts';
import { address } from '../links.ts';
import { minuteOf, presetNames, rangePresets, type TimeRange } from '../time-range.ts';

interface RangePickerProps {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly range: TimeRange;
}

export function RangePicker({ path, query, range }: RangePickerProps) {
  return (
    <nav class="range" aria-label="Time range">
      <ul>
        {rangePresets.map((preset) => (
          <li key={preset}>
            <a
              href={address(path, { ...query, range: preset })}
              aria-current={range.preset === preset ? 'true' : undefined}
              aria-label={presetNames[preset]}
            >
              {preset}
            </a>
          </li>
        ))}
        <li>
          <details class="range-own">
            <summary>
              {range.preset === null ? `${minute(range.from)} to ${minute(range.until)}` : 'Other'}
            </summary>
            <form method="get" action={path}>
              {Object.entries(query).map(([name, value]) => (
                <input key={name} type="hidden" name={name} value={value} />
              ))}
              <label>
                From (UTC)
                <input type="datetime-local" name="from" value={minuteOf(range.from)} required />
              </label>
              <label>
                Until (UTC)
                <input type="datetime-local" name="until" value={minuteOf(range.until)} />
              </label>
              <button type="submit">Show</button>
            </form>
          </details>
        </li>
      </ul>
    </nav>
  );
}
