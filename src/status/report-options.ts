/** What the options of `recalld report` ask for, or all that is wrong with them at once. */
import { durationMs, durationSchema } from '../config/duration.ts';
import { RecalldError } from '../errors.ts';

/** As they were given. */
export interface ReportOptions {
  readonly pipeline?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface ReportedTime {
  readonly pipeline: string;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
}

const DEFAULT_LENGTH = '7d';
const lengthSchema = durationSchema('1m', '36500d');

/**
 * @param pipelines the names that the config has
 * @throws RecalldError usage, with everything that is missing or wrong in one sentence
 */
export function readReportOptions(options: ReportOptions, pipelines: readonly string[], now: Date): ReportedTime {
  const { from: start = DEFAULT_LENGTH, to: end } = options;
  const pipeline = options.pipeline ?? (pipelines.length === 1 ? pipelines[0] : undefined);
  const until = end === undefined ? now : readTime(end);
  const from = readStart(start, until ?? now);
  const problems: string[] = [];
  if (pipelines.length === 0) problems.push('the config has no pipeline, add one under `pipelines`');
  else if (pipeline === undefined) problems.push(`--pipeline must name one of ${pipelines.join(', ')}`);
  else if (!pipelines.includes(pipeline)) {
    problems.push(`--pipeline must name one of ${pipelines.join(', ')}, not "${pipeline}"`);
  }
  if (from === null)
    problems.push(`--from must be a length such as 7d or a time such as 2026-11-13T15:45:00Z, not "${start}"`);
  if (until === null) problems.push(`--to must be a time such as 2026-11-20T15:45:00Z, not "${end}"`);
  if (from !== null && until !== null && from >= until) problems.push('--from must be before --to');
  if (pipeline === undefined || from === null || until === null || problems.length > 0) {
    throw new RecalldError('usage', `The report cannot be made: ${problems.join('; ')}.`);
  }
  return { pipeline, from, until };
}

/** A time, or a length of time before `until`. */
function readStart(text: string, until: Date): Date | null {
  return lengthSchema.safeParse(text).success ? new Date(until.getTime() - durationMs(text)) : readTime(text);
}

function readTime(text: string): Date | null {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? null : time;
}
