/** Addresses of pages. */
import type { TimeRange } from './time-range.ts';

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

export type PipelinePage = 'index' | '' | 'golden' | 'density' | 'traffic' | 'judge' | 'shadow';

export function pipelinePath(pipeline: string, page: PipelinePage = ''): string {
  const path = `/pipelines/${encodeURIComponent(pipeline)}`;
  return page === '' ? path : `${path}/${page}`;
}

/** Where a check stands, and when it changed. */
export function checkHistoryPath(range: TimeRange, pipeline: string, check: string): string {
  return `${within(range, '/checks', { pipeline, check })}#history`;
}

export function incidentPath(id: string): string {
  return `/incidents/${encodeURIComponent(id)}`;
}

export function runPath(runId: string): string {
  return `/runs/${encodeURIComponent(runId)}`;
}

/** @param against the run that queries are held against; null: what the run was compared with */
export function runQueriesPath(range: TimeRange, runId: string, view: string, against: string | null): string {
  return `${within(range, runPath(runId), { view, against })}#queries`;
}

export function runQueryPath(runId: string, queryId: string): string {
  return `${runPath(runId)}/queries/${encodeURIComponent(queryId)}`;
}

export function labelsPath(pipeline: string, goldenSet: string): string {
  return `${pipelinePath(pipeline, 'golden')}/${encodeURIComponent(goldenSet)}/labels`;
}
