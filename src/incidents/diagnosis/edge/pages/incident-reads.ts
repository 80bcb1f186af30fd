/** Reads the data for the page of an incident. */
import type { Context } from '../../../../core/context.ts';
import { findIncident } from '../routes.ts';

export type IncidentPageData = Awaited<ReturnType<typeof readIncidentPage>>;

/** @throws RecalldError incident_unknown */
export async function readIncidentPage(context: Context, id: string) {
  const incident = await findIncident(context, id);
  const [notes, reliability] = await Promise.all([
    context.db.live.annotations.of('incident', [id]),
    context.db.incidents.reliability(null),
  ]);
  return { incident, notes: notes.get(id) ?? [], reliability };
}
