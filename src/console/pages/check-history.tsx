/** When checks changed within the range, from what to what, for how long, and why. */
import { DENSITY_CHECK_NAME } from '../../core/checks/density-drift.ts';
import type { CheckTransition } from '../../ports/check-history.ts';
import { spellsOf } from '../charts/verdict-spells.ts';
import { VerdictStrip } from '../charts/verdict-strip.tsx';
import { VerdictBadge } from '../components/badge.tsx';
import { Section } from '../components/section.tsx';
import { Table } from '../components/table.tsx';
import { agoOf, Instant } from '../components/time.tsx';
import { duration, minute, score } from '../format.ts';
import { address, checkHistoryPath, pipelinePath, within } from '../links.ts';
import type { Frame } from '../page.tsx';
import { minuteOf } from '../time-range.ts';
import type { ChecksPageData } from './checks-data.ts';

export function CheckHistory({ frame, data }: { readonly frame: Frame; readonly data: ChecksPageData }) {
  const { transitions, older, pipeline, check } = data;
  const { range } = frame;
  const path = within(range, '/checks', { pipeline, check, before: older });
  return (
    <Section
      id="history"
      title={check === null ? 'History' : `History of ${check}`}
      lead="Changes of verdicts in this time, newest first. The strips show how each check stood: the worse, the higher."
    >
      <Strips frame={frame} data={data} />
      {transitions.length === 0 ? (
        <p class="lead">
          No check changed its verdict in this time. Choose a longer one to look further back.
        </p>
      ) : (
        <Table
          caption="Changes of verdicts, newest first"
          columns={[
            { title: 'When (UTC)' },
            { title: 'Check' },
            { title: 'Became' },
            { title: 'For', isNumber: true },
            { title: 'Value', isNumber: true, isMinor: true },
          ]}
          rows={transitions.map((one) => ({ key: one.id, cells: cellsOf(one, frame, data) }))}
        />
      )}
      {older === null ? null : (
        <p class="pager">
          <a href={`${path}#history`}>Older changes</a>
        </p>
      )}
    </Section>
  );
}

function cellsOf(transition: CheckTransition, { range, now }: Frame, data: ChecksPageData) {
  const { pipeline, check, from, to, occurredAt, endedAt, value, segment, explanation } = transition;
  const lasted = agoOf(occurredAt, endedAt ?? now);
  const isConfigured = data.checks.some((one) => one.pipeline === pipeline && one.name === check);
  return [
    <a href={evidencePath(transition, data)} aria-label={`What was measured around ${minute(occurredAt)}`}>
      <Instant at={occurredAt} />
    </a>,
    <>
      <a href={checkHistoryPath(range, pipeline, check)}>{check}</a>
      {data.pipeline === null ? <span class="of"> {pipeline}</span> : null}
      <span class="why">{explanation}</span>
    </>,
    <>
      <VerdictBadge verdict={to} />
      <span class="severity">{from === null ? 'first judged' : `was ${words[from]}`}</span>
    </>,
    <span class="instant">
      {duration(lasted)}
      {endedAt === null ? (
        <span class="severity">{isConfigured ? 'so far' : 'no longer configured'}</span>
      ) : null}
    </span>,
    <>
      {value === null ? '' : score(value)}
      {segment === null || segment === 'all' ? null : <span class="severity">{segment}</span>}
    </>,
  ];
}

const words = { ok: 'OK', warning: 'a warning', critical: 'critical', no_data: 'without data' } as const;

const HOUR_MS = 3_600_000;

/** What a check was judged by, an hour around the change. */
function evidencePath({ pipeline, check, occurredAt }: CheckTransition, { checks }: ChecksPageData): string {
  const known = checks.find((one) => one.pipeline === pipeline && one.name === check);
  const around = {
    from: minuteOf(new Date(occurredAt.getTime() - HOUR_MS)),
    until: minuteOf(new Date(occurredAt.getTime() + HOUR_MS)),
  };
  if (check === DENSITY_CHECK_NAME) return address(pipelinePath(pipeline, 'density'), around);
  if (known !== undefined && known.goldenSet !== null)
    return address(pipelinePath(pipeline, 'golden'), { set: known.goldenSet, ...around });
  return address(pipelinePath(pipeline, 'traffic'), around);
}

function Strips({ frame: { range, now }, data }: { readonly frame: Frame; readonly data: ChecksPageData }) {
  const { checks, standings, transitions, pipeline, isWhole } = data;
  // From some of the changes no strip can be told.
  if (!isWhole) return null;
  const { from } = range;
  const until = range.until > now ? now : range.until;
  const strips = checks.flatMap(({ pipeline: own, name }) => {
    const isOwn = (one: { readonly pipeline: string }): boolean => one.pipeline === own;
    const changes = transitions.filter((one) => isOwn(one) && one.check === name);
    const standing = standings.find((one) => isOwn(one) && one.name === name) ?? null;
    const spells = spellsOf(changes, standing, from, until);
    return spells.length === 0 ? [] : [{ label: pipeline === null ? `${own}: ${name}` : name, spells }];
  });
  if (strips.length === 0) return null;
  return (
    <ul class="strips">
      {strips.map(({ label, spells }) => (
        <li key={label}>
          <span class="of">{label}</span>
          <VerdictStrip name={label} spells={spells} from={from} until={until} />
        </li>
      ))}
      <li aria-hidden="true">
        <span />
        <span class="strip-ends of">
          <span>{minute(from)}</span>
          <span>{minute(until)}</span>
        </span>
      </li>
    </ul>
  );
}
