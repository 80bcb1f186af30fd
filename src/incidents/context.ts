/** Members that incidents and notifications add to the context. */

import type { Pool } from 'pg';
import type { Receiver } from '../connectors/receivers/receiver.ts';
import type { Scope } from '../core/context.ts';
import { createIncidentActs, type IncidentActs } from './diagnosis/incident-acts.ts';
import { createIncidents, type Incidents } from './diagnosis/incidents.ts';
import type { Incident } from './diagnosis/rules/incident.ts';
import type { ExplainBudget } from './explain/explain-budget.ts';
import type { ExplainTurns } from './explain/explain-turns.ts';
import { createNotifications, type Notifications } from './notifications/notify.ts';
import { createSilences, type Silences } from './notifications/silences.ts';

export function incidentTables(pool: Pool, scope: Scope) {
  return {
    incidents: { ...createIncidents(pool, scope), ...createIncidentActs(pool, scope) },
    notifications: createNotifications(pool),
    silences: createSilences(pool, scope),
  };
}

declare module '../core/context.ts' {
  interface Db {
    readonly incidents: Incidents & IncidentActs;
    readonly notifications: Notifications;
    readonly silences: Silences;
  }
  interface Hooks {
    /** Sends the incident notifications that are due. */
    notify(): Promise<void>;
    /** Renders a chart of the measure behind an incident's worst alert, as a PNG; null if the alert has no measure. */
    drawIncident(incident: Incident): Promise<Uint8Array | null>;
  }
  interface Context {
    readonly explainTurns: ExplainTurns;
    /** Limits how many explanations a caller may request per minute through the API and the pages together. */
    readonly explainBudget: ExplainBudget;
    readonly receivers: readonly Receiver[];
  }
}
