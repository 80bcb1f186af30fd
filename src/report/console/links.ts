/** URLs of pages. The time range of a page is part of its URL, so that a shared link shows the same data. */
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { Content, Link, Query } from '../model/content.ts';
import { link } from '../model/show.ts';

export interface TimeRange {
  readonly from: Date;
  readonly until: Date;
  /** Query parameters of the range; empty for the default range. */
  readonly query: Readonly<Record<string, string>>;
  /** Name of a preset range; null for a range between two given times. */
  readonly preset: (typeof rangePresets)[number]['preset'] | null;
}

export const rangePresets = [
  { preset: '1h', ms: HOUR_MS, name: 'last hour' },
  { preset: '6h', ms: 6 * HOUR_MS, name: 'last 6 hours' },
  { preset: '24h', ms: DAY_MS, name: 'last 24 hours' },
  { preset: '7d', ms: 7 * DAY_MS, name: 'last 7 days' },
  { preset: '30d', ms: 30 * DAY_MS, name: 'last 30 days' },
] as const;

const defaultPreset = rangePresets[2];
const MAX_RANGE_MS = 400 * DAY_MS;

/** Reads `range`, or `from` and `until` (UTC), from a query. Invalid values fall back to the last 24 hours. */
export function readTimeRange(query: Readonly<Record<string, string | undefined>>, now: Date): TimeRange {
  const from = readInstant(query['from']);
  const until = readInstant(query['until']) ?? now;
  if (from !== null && from < until) {
    const start = new Date(Math.max(from.getTime(), until.getTime() - MAX_RANGE_MS));
    return {
      from: start,
      until,
      preset: null,
      query: { from: minuteOf(start), ...(query['until'] === undefined ? {} : { until: minuteOf(until) }) },
    };
  }
  const found = rangePresets.find(({ preset }) => preset === query['range']) ?? defaultPreset;
  const { preset, ms } = found;
  return {
    from: new Date(now.getTime() - ms),
    until: now,
    preset,
    query: found === defaultPreset ? {} : { range: preset },
  };
}

/** Browsers send date and time fields without a time zone; recalld reads them as UTC. */
function readInstant(text: string | undefined): Date | null {
  if (text === undefined || !/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?$/.test(text)) return null;
  const at = new Date(text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text);
  return Number.isNaN(at.getTime()) ? null : at;
}

/** Formats a time as `datetime-local` fields expect it: `2026-11-20T08:30`. */
export function minuteOf(at: Date): string {
  return at.toISOString().slice(0, 16);
}

/** Appends a query to a path; parameters without a value are omitted. */
export function address(path: string, query: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') parts.set(name, String(value));
  }
  const text = parts.toString();
  return text === '' ? path : `${path}?${text}`;
}

export function within(range: TimeRange, path: string, query: Query = {}): string {
  return address(path, { ...query, ...range.query });
}

export type PipelinePage = 'index' | '' | 'golden' | 'density' | 'traffic' | 'judge' | 'experiments';

export function pipelinePath(pipeline: string, page: PipelinePage = ''): string {
  const path = `/pipelines/${encodeURIComponent(pipeline)}`;
  return page === '' ? path : `${path}/${page}`;
}

export function checkHistory(pipeline: string, check: string): Link {
  return link(check, '/checks', { pipeline, check }, 'history');
}

export function incidentPath(id: string): string {
  return `/incidents/${encodeURIComponent(id)}`;
}

export function runPath(runId: string): string {
  return `/runs/${encodeURIComponent(runId)}`;
}

/** @param against id of the run to compare with; null for the comparison that recalld made when the run ended */
export function runQueries(text: string, runId: string, view: string, against: string | null): Link {
  return link(text, runPath(runId), { view, against }, 'queries');
}

export function runQuery(runId: string, queryId: string, text: Content = queryId): Link {
  return link(text, `${runPath(runId)}/queries/${encodeURIComponent(queryId)}`);
}

export function labelsPath(pipeline: string, goldenSet: string): string {
  return `${pipelinePath(pipeline, 'golden')}/${encodeURIComponent(goldenSet)}/labels`;
}

/** Returns the URL of a link, with the time range of the page unless the link specifies a time range. */
export function hrefOf({ path, query, anchor }: Omit<Link, 'kind' | 'text'>, range?: TimeRange): string {
  const href = address(path, query['from'] === undefined ? { ...query, ...range?.query } : query);
  return anchor === null ? href : `${href}#${anchor}`;
}
