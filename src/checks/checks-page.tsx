/** Every configured check: how it stands, since when, why, what is likely behind it, and when it changed. */

import { PipelineChoice } from '../console/components/navigation.tsx';
import { Empty, Section } from '../console/components/section.tsx';
import { within } from '../console/links.ts';
import { type Frame, Page } from '../console/page.tsx';
import { DiagnosisPanel } from '../diagnosis/pages/diagnosis.tsx';
import { CheckHistory } from './check-history.tsx';
import { CheckTable } from './check-table.tsx';
import type { ChecksPageData } from './checks-data.ts';
import type { CheckState } from './rules/check-state.ts';

export function ChecksPage({ frame, data }: { readonly frame: Frame; readonly data: ChecksPageData }) {
  const { checks, incidents, pipelines, pipeline, check } = data;
  const failing = checks.filter(({ verdict, isQuiet }) => verdict !== 'ok' && !isQuiet);
  const quiet = checks.filter(({ isQuiet }) => isQuiet);
  const holding = checks.filter(({ verdict, isQuiet }) => verdict === 'ok' && !isQuiet);
  const inAlarm = new Set(failing.flatMap(({ verdict, pipeline: own }) => (verdict === 'no_data' ? [] : [own])));
  const table = (caption: string, shown: readonly CheckState[]) => (
    <CheckTable caption={caption} checks={shown} range={frame.range} now={frame.now} withPipeline={pipeline === null} />
  );
  return (
    <Page frame={frame} title="Checks" section="checks" {...(pipeline === null ? {} : { pipeline })}>
      <PipelineChoice frame={frame} path="/checks" pipelines={pipelines} chosen={pipeline} />
      {check === null ? null : (
        <p class="chosen">
          Only <strong>{check}</strong>. <a href={within(frame.range, '/checks', { pipeline })}>All checks</a>
        </p>
      )}
      {checks.length === 0 ? (
        <NoCheck check={check} />
      ) : (
        <>
          <Section id="failing" title="Need somebody">
            {failing.length === 0 ? (
              <p class="lead">None: every check holds that has something to judge.</p>
            ) : (
              table('Checks that do not hold', failing)
            )}
            {incidents
              .filter((one) => inAlarm.has(one.pipeline))
              .map((incident) => (
                <DiagnosisPanel key={incident.id} diagnosis={incident} range={frame.range} />
              ))}
          </Section>
          {quiet.length === 0 ? null : (
            <Section
              id="quiet"
              title="Wait for data"
              lead="Too little has come to judge these, which the config takes as no alarm."
            >
              {table('Checks that wait for data', quiet)}
            </Section>
          )}
          {holding.length === 0 ? null : (
            <Section id="holding" title="Hold">
              {table('Checks that hold', holding)}
            </Section>
          )}
        </>
      )}
      <CheckHistory frame={frame} data={data} />
    </Page>
  );
}

function NoCheck({ check }: Pick<ChecksPageData, 'check'>) {
  if (check !== null) {
    return <Empty why={`The config has no check "${check}" now; what is kept of it stands below.`} />;
  }
  return (
    <Empty
      why="No check is configured, so nothing would say that retrieval got worse."
      todo={
        <>
          Add some under <code>checks</code> of a pipeline, such as{' '}
          <code>{'{measure: ndcg@10, below: 0.8, severity: critical}'}</code>.
        </>
      }
    />
  );
}
