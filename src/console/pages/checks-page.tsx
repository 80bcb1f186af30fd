/** Every configured check: how it stands, since when, why, what is likely behind it, and when it changed. */
import type { CheckState } from '../../pipeline/checks/check-states.ts';
import { CheckTable } from '../components/check-table.tsx';
import { DiagnosisPanel } from '../components/diagnosis.tsx';
import { Empty, Section } from '../components/section.tsx';
import { within } from '../links.ts';
import { type Frame, Page } from '../page.tsx';
import { CheckHistory } from './check-history.tsx';
import type { ChecksPageData } from './checks-data.ts';

export function ChecksPage({ frame, data }: { readonly frame: Frame; readonly data: ChecksPageData }) {
  const { checks, standings, diagnoses, pipelines, pipeline, check } = data;
  const failing = checks.filter(({ verdict, isQuiet }) => verdict !== 'ok' && !isQuiet);
  const quiet = checks.filter(({ isQuiet }) => isQuiet);
  const holding = checks.filter(({ verdict, isQuiet }) => verdict === 'ok' && !isQuiet);
  const inAlarm = new Set(
    failing.flatMap(({ verdict, pipeline: own }) => (verdict === 'no_data' ? [] : [own])),
  );
  const table = (caption: string, shown: readonly CheckState[]) => (
    <CheckTable
      caption={caption}
      checks={shown}
      standings={standings}
      range={frame.range}
      now={frame.now}
      withPipeline={pipeline === null}
    />
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
            {diagnoses
              .filter((one) => inAlarm.has(one.pipeline))
              .map((diagnosis) => (
                <DiagnosisPanel key={diagnosis.id} diagnosis={diagnosis} range={frame.range} />
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

interface PipelineChoiceProps {
  readonly frame: Frame;
  readonly path: string;
  readonly pipelines: readonly string[];
  readonly chosen: string | null;
}

/** Nothing to choose among fewer than two. */
export function PipelineChoice({ frame, path, pipelines, chosen }: PipelineChoiceProps) {
  if (pipelines.length < 2) return null;
  const item = (text: string, pipeline: string | null) => (
    <li key={text}>
      <a
        href={within(frame.range, path, { pipeline })}
        aria-current={pipeline === chosen ? 'true' : undefined}
      >
        {text}
      </a>
    </li>
  );
  return (
    <nav class="choices" aria-label="Pipelines">
      <ul>
        {item('All', null)}
        {pipelines.map((name) => item(name, name))}
      </ul>
    </nav>
  );
}
