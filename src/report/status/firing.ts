/** Shows firing alerts to an on-call engineer: what broke, since when, why, and what to do. */

import { alertSince } from '../../checks/rules/alert-text.ts';
import { capitalized, plural } from '../../core/format.ts';
import { diagnosisOf, shownBy } from '../../incidents/diagnosis/edge/pages/diagnosis.ts';
import { type Incident, worstAlert } from '../../incidents/diagnosis/rules/incident.ts';
import { incidentPath } from '../console/links.ts';
import type { Content, ContentNode } from '../model/content.ts';
import { age, group, link, quiet, strong, styledParagraph, time, verdictBadge } from '../model/show.ts';
import { healthySentence, type PipelineStatus } from './pipeline-status.ts';

/**
 * Returns the alerts to show, worst first. These are the firing alerts or, if missing data hides whether any are still
 * firing, the last known alerts of the open incident. Among alerts of the same severity, the alert that heads the
 * incident comes first, so that pages and messages begin with the same words.
 */
function shownAlerts(status: PipelineStatus, incident: Incident | null) {
  const { alerts, state } = status;
  const leading = incident === null ? undefined : worstAlert(incident)?.name;
  const shown = alerts.length === 0 && state === 'no_data' ? lastKnownAlerts(status, incident) : alerts;
  const rank = ({ name, severity }: (typeof shown)[number]): number =>
    (severity === 'critical' ? 0 : 2) + (name === leading ? 0 : 1);
  return shown.toSorted((a, b) => rank(a) - rank(b));
}

/**
 * Returns the unresolved alerts of the incident. Excludes alerts whose check passes, because the next diagnosis
 * resolves them.
 */
function lastKnownAlerts({ checks }: PipelineStatus, incident: Incident | null) {
  const passing = new Set(checks.flatMap(({ name, verdict }) => (verdict === 'ok' ? [name] : [])));
  return (incident?.timeline ?? []).flatMap(({ name, rule, currentSeverity, worst: { headline } }) =>
    currentSeverity === null || passing.has(name) ? [] : [{ name, rule, severity: currentSeverity, headline }],
  );
}

/**
 * Headlines of the shown alerts or, if no alert is shown, of the reasons for the status; worst first. Empty for a
 * healthy pipeline.
 */
function headlinesOf(status: PipelineStatus, incident: Incident | null): readonly string[] {
  const shown = shownAlerts(status, incident).map(({ headline }) => headline);
  return shown.length > 0 ? shown : status.reasons.map(({ sentence, headline }) => headline ?? sentence);
}

/** Returns the time at which the failure in the headline was first measured; null if unknown. */
function firingSince(status: PipelineStatus, incident: Incident | null): Date | null {
  const { checks } = status;
  const [leading] = shownAlerts(status, incident);
  if (leading !== undefined && status.alerts.length === 0) {
    return incident?.timeline.find(({ name }) => name === leading.name)?.openedAt ?? null;
  }
  const check = checks.find(({ name }) => name === leading?.name);
  // The alert and its messages show the same time. The incident opens later, once the failure is confirmed.
  const measured = check === undefined ? null : alertSince(check);
  if (measured !== null || incident !== null) return measured ?? incident?.openedAt ?? null;
  const times = checks.flatMap(({ verdict, isQuiet, since }) => (verdict === 'ok' || isQuiet ? [] : (since ?? [])));
  return times.length === 0 ? null : new Date(Math.min(...times.map((at) => at.getTime())));
}

/** Returns the problem in a few words; null for a healthy pipeline. */
export function headlineOf(status: PipelineStatus, incident: Incident | null): string | null {
  const [first] = headlinesOf(status, incident);
  return first === undefined ? null : sentenceCase(first);
}

/** Returns the title of the panel that shows the firing alerts. */
export function firingTitle(status: PipelineStatus, incident: Incident | null): string {
  if (status.state === 'ok') return 'Status';
  if (status.alerts.length > 0 || status.state !== 'no_data') return 'Firing';
  return shownAlerts(status, incident).length > 0 ? 'Last known alert' : 'No data';
}

/** @param withHeadline false if the title of the page is the headline */
export function firingPanel(status: PipelineStatus, incident: Incident | null, withHeadline: boolean): Content {
  const { state, unknowns } = status;
  const shown = shownAlerts(status, incident);
  const [first, ...others] = headlinesOf(status, incident);
  if (first === undefined) return styledParagraph('quiet', healthySentence(unknowns));
  const since = firingSince(status, incident);
  return [
    styledParagraph(
      'headline',
      withHeadline && [strong(sentenceCase(first)), ' '],
      since !== null && [withHeadline ? 'since ' : 'Since ', time(since), ' ', quiet(age(since))],
      others.length > 0 &&
        quiet(
          `, and ${plural(others.length, shown.length > 0 ? 'more alert' : 'more reason')}${withHeadline ? '' : ' below'}`,
        ),
    ),
    (withHeadline || status.alerts.length === 0) && shown.length > 0 && noDataLine(status),
    diagnosisOf(state, incident),
    actions(status, incident),
  ];
}

/** Explains why a pipeline's verdict is "no data" although its headline is an alert. */
function noDataLine({ state, reasons }: PipelineStatus): ContentNode | null {
  const [first, ...others] = reasons.filter(({ verdict }) => verdict === 'no_data');
  if (state !== 'no_data' || first === undefined) return null;
  return styledParagraph('quiet', `No data: ${first.sentence}`, others.length > 0 && ` And ${others.length} more.`);
}

/** Shows a pipeline's verdict. If data is missing and alerts are shown, shows the worst severity and "no data". */
export function verdictBadges(status: PipelineStatus, incident: Incident | null): Content {
  const { state } = status;
  const [worst] = shownAlerts(status, incident);
  return state === 'no_data' && worst !== undefined
    ? [verdictBadge(worst.severity), ' ', verdictBadge(state)]
    : verdictBadge(state);
}

function actions(status: PipelineStatus, incident: Incident | null): ContentNode | null {
  const [alert] = shownAlerts(status, incident);
  if (alert === undefined && incident === null) return null;
  return group(
    'links',
    incident !== null && link('Incident', incidentPath(incident.id)),
    alert !== undefined && link('Runbook', `/runbooks/${alert.rule}`),
    incident !== null && shownBy(incident),
    link('Deployments', '/deployments', { pipeline: status.pipeline }),
  );
}

/** Capitalizes a headline, unless it starts with a measure name, whose case must not change. */
function sentenceCase(text: string): string {
  return /^[a-z][a-z]* /.test(text) ? capitalized(text) : text;
}
