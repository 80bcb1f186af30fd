/**
 * Addresses of pages, and the span of time that a page shows, as its address says it, so that a link shows others the
 * same.
 */
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import type { Content, Link } from '../model/content.ts';
import { link } from '../model/show.ts';

export interface TimeRange {
  readonly from: Date;
  readonly until: Date;
  /** What of it stands in addresses: empty for the range that is taken when they say nothing. */
  readonly query: Readonly<Record<string, string>>;
  /** The preset, null for a range between two times. */
  readonly preset: RangePreset | null;
}

export const rangePresets = ['1h', '6h', '24h', '7d', '30d'] as const;

type RangePreset = (typeof rangePresets)[number];

const presetMs: Record<RangePreset, number> = {
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
};

export const presetNames: Record<RangePreset, string> = {
  '1h': 'last hour',
  '6h': 'last 6 hours',
  '24h': 'last 24 hours',
  '7d': 'last 7 days',
  '30d': 'last 30 days',
};

const DEFAULT_PRESET: RangePreset = '24h';
const MAX_RANGE_MS = 400 * DAY_MS;

/**
 * Reads `range`, or `from` and `until` (UTC), from an address. What cannot be read falls back to the last 24 hours:
 * a link with a slip in it still opens.
 */
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
  const preset = rangePresets.find((one) => one === query['range']) ?? DEFAULT_PRESET;
  return {
    from: new Date(now.getTime() - presetMs[preset]),
    until: now,
    preset,
    query: preset === DEFAULT_PRESET ? {} : { range: preset },
  };
}

/** What a browser sends from a field of date and time has no zone; recalld shows and reads UTC. */
function readInstant(text: string | undefined): Date | null {
  if (text === undefined || !/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?$/.test(text)) return null;
  const at = new Date(text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text);
  return Number.isNaN(at.getTime()) ? null : at;
}

/** `2026-11-20T08:30`, as fields of date and time hold it. */
export function minuteOf(at: Date): string {
  return at.toISOString().slice(0, 16);
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

/** A path with its query; parts without a value are left out. */
export function address(path: string, query: Query = {}): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') parts.set(name, String(value));
  }
  const text = parts.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The same page, or another, over the same span of time. */
export function within(range: TimeRange, path: string, query: Query = {}): string {
  return address(path, { ...query, ...range.query });
}

export type PipelinePage = 'index' | '' | 'golden' | 'density' | 'traffic' | 'judge' | 'experiments';

export function pipelinePath(pipeline: string, page: PipelinePage = ''): string {
  const path = `/pipelines/${encodeURIComponent(pipeline)}`;
  return page === '' ? path : `${path}/${page}`;
}

/** A check by its name, which leads to when it changed. */
export function checkHistory(pipeline: string, check: string): Link {
  return link(check, '/checks', { pipeline, check }, 'history');
}

export function incidentPath(id: string): string {
  return `/incidents/${encodeURIComponent(id)}`;
}

export function runPath(runId: string): string {
  return `/runs/${encodeURIComponent(runId)}`;
}

/** @param against the run that queries are held against; null: what the run was compared with */
export function runQueries(text: string, runId: string, view: string, against: string | null): Link {
  return link(text, runPath(runId), { view, against }, 'queries');
}

export function runQuery(runId: string, queryId: string, text: Content = queryId): Link {
  return link(text, runQueryPath(runId, queryId));
}

export function runQueryPath(runId: string, queryId: string): string {
  return `${runPath(runId)}/queries/${encodeURIComponent(queryId)}`;
}

export function labelsPath(pipeline: string, goldenSet: string): string {
  return `${pipelinePath(pipeline, 'golden')}/${encodeURIComponent(goldenSet)}/labels`;
}

/** Addresses keep the time that is looked at, unless they have their own. */
export function hrefOf({ path, query, anchor }: Pick<Link, 'path' | 'query' | 'anchor'>, range?: TimeRange): string {
  const href = address(path, query['from'] === undefined ? { ...query, ...range?.query } : query);
  return anchor === null ? href : `${href}#${anchor}`;
}
