/** Writes the review of one pipeline as a file. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { RecalldError } from '../../errors.ts';
import { writeText } from '../../files/text-file.ts';
import { type Review, readReview } from '../../status/read-review.ts';
import { renderReport } from '../../status/report/report-page.tsx';
import { systemClock } from '../../system-clock.ts';
import { assertConfiguredPipeline } from '../pipelines.ts';
import { version } from '../version.ts';
import type { CommandSettings } from './command-store.ts';
import { withWatchedStore } from './watched-store.ts';

export interface ReportRequest {
  readonly pipeline: string;
  readonly from: Date;
  /** Exclusive. */
  readonly until: Date;
  /** Path of the file. */
  readonly out: string;
  /** Replaces a file that is there. */
  readonly force: boolean;
}

/** From the compiled file as from the source. */
const assets = path.join(import.meta.dirname, '../../../src/console/assets');

/**
 * Reads the review and writes it as one HTML file.
 *
 * @throws RecalldError pipeline_unknown, usage for times that do not follow each other, file_unwritable, and as
 * withWatchedStore
 */
export async function writeReport(settings: CommandSettings, request: ReportRequest): Promise<Review> {
  const { pipeline, from, until, out, force } = request;
  assertConfiguredPipeline(settings.config, pipeline);
  if (from >= until) throw new RecalldError('usage', '--from must be before --to; swap the two times.');
  const now = systemClock.now();
  const privacy = settings.config.pipelines.find(({ name }) => name === pipeline)?.privacy;
  const showsText = privacy?.text !== 'hash';
  const review = await withWatchedStore(settings, (store) => {
    const watched = store.pipelines.find(({ name }) => name === pipeline);
    if (watched === undefined)
      throw new RangeError(`The pipeline ${pipeline} is in the config but not watched.`);
    return readReview(store, { pipeline: watched, from, until, showsText });
  });
  const sheets = ['style.css', 'report.css'].map((name) => readFile(path.join(assets, name), 'utf8'));
  const style = (await Promise.all(sheets)).join('\n');
  await writeText(out, renderReport({ review, now, version, style }), force);
  return review;
}
