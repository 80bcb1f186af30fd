/** docs/reference/tracing.md: the tracing programs that recalld was tested with, from their recordings. */

import { contentSettings, GRPC_FIX, spanReasons } from '../../src/live/rules/otel/unreadable-retriever.ts';
import { type CollectorRecording, readCollectorRecording } from '../../test/interop/collector/recording.ts';
import { type Recording, readRecordings } from '../../test/interop/tracing/recording.ts';
import { code, generatedPage, type Page, table } from './page.ts';

export function tracingPage(): Page {
  const all = readRecordings();
  const recordings = all.filter(({ reason }) => reason === undefined);
  const collector = readCollectorRecording();
  return generatedPage(
    'docs/reference/tracing.md',
    ['test/fixtures/interop/tracing', 'test/fixtures/interop/collector.json.gz'],
    [
      '# Tested tracing combinations',
      'recalld was tested with the frameworks and instrumentations below. Each row is a recording of a real program. The test suite replays the recording and verifies that recalld stores the query, ranked documents and latency as the program saw them, and the fields under *also read*. If a document has no id, recalld uses a [hash of the text](../explanation/concepts.md#documents-without-an-id); if the error class is missing, recalld stores only that the retrieval failed. Configure the exporter as in [Send live queries with OpenTelemetry](../how-to/opentelemetry.md).',
      table(
        ['framework', 'instrumentation', 'versions', 'recorded', 'also read', 'you must add'],
        recordings.map(rowOf),
      ),
      ...recordings
        .filter(({ missing }) => missing.includes('failure'))
        .map(
          ({ framework, instrumentation }) =>
            `${instrumentation} does not export failed retrievals of ${framework}, so recalld cannot count them.`,
        ),
      "LangChain retrievers return documents without scores, unless they put a score into the metadata. If a reranker outside the retriever changes the order, recalld still stores the retriever's scores.",
      `On ${collector.date}, each recording${without(collector, recordings)} was also sent through OpenTelemetry Collector ${collector.version} with the [configuration for recalld](../how-to/opentelemetry.md#use-a-collector), alternately over HTTP and gRPC. recalld stored the same data as without the Collector.`,
      '## Tested cases',
      table(
        ['framework', 'instrumentation', 'cases'],
        recordings.map(({ framework, instrumentation, retrievals }) => [
          framework,
          instrumentation,
          [...new Set(retrievals.map((retrieval) => retrieval.case))].join('; '),
        ]),
      ),
      '## Combinations that cannot work',
      'We also recorded these programs, but their spans contain no search.',
      table(
        ['framework', 'instrumentation', 'versions', 'recorded', 'reason', 'fix'],
        all.flatMap((recording) => {
          const { reason } = recording;
          if (reason === undefined || reason === 'grpc') return [];
          const { problem, fix } = spanReasons[reason];
          return [[...rowOf(recording).slice(0, 4), problem, fix]];
        }),
      ),
      '## Spans without documents',
      "`recalld doctor` reports the last day's spans that produced no live query, with the reason and the fix. `recalld doctor` reports a search without a retriever span only if the pipeline has no live queries.",
      table(
        ['reason', 'fix'],
        [...Object.values(spanReasons).map(({ problem, fix }) => [problem, fix]), ['an exporter uses gRPC', GRPC_FIX]],
      ),
      'If documents are missing or hidden, these settings make the instrumentation record their content:',
      table(
        ['instrumentation', 'setting'],
        contentSettings.map(({ instrumentation, setting }) => [instrumentation, setting]),
      ),
    ],
  );
}

/** Returns a phrase that lists the frameworks whose recordings were not sent through the Collector. */
function without({ programs }: CollectorRecording, recordings: readonly Recording[]): string {
  const sent = new Set(programs.map(({ name }) => name));
  const others = recordings.filter(({ name }) => !sent.has(name)).map(({ framework }) => framework);
  return others.length === 0 ? '' : `, except those of ${others.join(', ')},`;
}

function rowOf(recording: Recording): string[] {
  const { framework, instrumentation, versions, date, runtime, switchedOn } = recording;
  const named = Object.entries(versions).map(([name, version]) => code(`${name} ${version}`));
  return [
    framework,
    instrumentation,
    [...named, code(runtime)].join(', '),
    date,
    fieldsOf(recording).join(', '),
    switchedOn || 'nothing',
  ];
}

function fieldsOf({ retrievals, missing }: Recording): string[] {
  const results = retrievals.flatMap((retrieval) => retrieval.results);
  const known = {
    id: results.some(({ id }) => id !== null),
    score: results.some(({ score }) => score !== null),
    session: retrievals.some(({ session }) => session !== null),
    error: retrievals.some(({ error }) => error !== null),
  };
  return (['id', 'score', 'session', 'error'] as const)
    .filter((field) => known[field] && !missing.includes(field))
    .map((field) => (field === 'error' ? 'error class' : field));
}
