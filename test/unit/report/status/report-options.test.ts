import { describe, expect, it } from 'vitest';
import { type ReportOptions, readReportOptions } from '../../../../src/report/status/report-command.ts';

const now = new Date('2026-11-20T15:45:00Z');
const read = (options: ReportOptions, pipelines: readonly string[] = ['docs']) =>
  readReportOptions(options, pipelines, now);

describe('readReportOptions', () => {
  it('defaults to the only pipeline and the last seven days', () => {
    expect(read({})).toEqual({ pipeline: 'docs', from: new Date('2026-11-13T15:45:00Z'), until: now });
  });

  it('accepts a start as a time or as a duration before the end', () => {
    const to = '2026-11-10T00:00:00Z';
    expect(read({ from: '36h' }).from).toEqual(new Date('2026-11-19T03:45:00Z'));
    expect(read({ from: '1d', to })).toMatchObject({ from: new Date('2026-11-09T00:00:00Z'), until: new Date(to) });
    expect(read({ from: '2026-11-01', to }).from).toEqual(new Date('2026-11-01T00:00:00Z'));
  });

  it('requires the name of the pipeline if there are several', () => {
    expect(read({ pipeline: 'faq' }, ['docs', 'faq']).pipeline).toBe('faq');
    expect(() => read({}, ['docs', 'faq'])).toThrow('--pipeline must name one of docs, faq.');
    expect(() => read({}, [])).toThrow('the config has no pipeline; add a pipeline under `pipelines`.');
  });

  it('rejects invalid options with all problems in one message', () => {
    const options = { pipeline: 'dogs', from: '7 days', to: 'tomorrow' };
    const sentence =
      'Cannot write the report: --pipeline must name one of docs, not "dogs"; --from must be a length such as 7d or a time such as 2026-11-13T15:45:00Z, not "7 days"; --to must be a time such as 2026-11-20T15:45:00Z, not "tomorrow".';
    expect(() => read(options)).toThrow(expect.objectContaining({ code: 'usage', message: sentence }));
    expect(() => read({ from: '2026-11-21' })).toThrow('--from must be before --to.');
  });
});
