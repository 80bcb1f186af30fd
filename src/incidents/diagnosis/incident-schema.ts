/** What a diagnosis and an incident are over the wire: the API, the commands and the report answer with the same. */
import { z } from 'zod';
import { severities } from '../../core/model.ts';
import { toWire } from '../../platform/http/wire.ts';
import type { PipelineDiagnosis } from './diagnose-pipeline.ts';
import { causes, causeTexts, confidences, tellApart } from './rules/cause.ts';
import { effectKinds } from './rules/effects.ts';
import { closingReasons, type Diagnosis, type Incident } from './rules/incident.ts';
import { besideOf } from './rules/rank-causes.ts';
import type { Sign, SignName } from './rules/signs.ts';

const sign = z.object({
  sign: z.string(),
  state: z.string(),
  sentence: z.string(),
  from: z.iso.datetime().nullable().describe('Start of what was measured; null for the golden run itself.'),
  n: z.number().nullable().describe('Size of the sample; null for what is none.'),
  weighed: z.boolean().describe('False for what was measured before the onset and says nothing of what is wrong now.'),
});
const cause = z
  .enum(causes)
  .describe('`unknown` unless one cause, or it and its alternative, are likelier than all others together.');
const confidence = z.enum(confidences);
const summary = z.string().describe('Cause, evidence and what to do first, for a line of a chat.');

const findingsShape = {
  pipeline: z.string(),
  cause,
  confidence,
  probability: z.number().min(0).max(1).describe('Posterior of the cause alone.'),
  alternatives: z
    .array(z.object({ cause: z.enum(causes), probability: z.number().min(0).max(1) }))
    .describe('What was measured does not tell these from the cause.'),
  tell_apart: z.string().nullable().describe('The look that tells the cause and its alternative apart.'),
  also: z
    .array(
      z.object({ cause: z.enum(causes), confidence, probability: z.number(), effects: z.array(z.enum(effectKinds)) }),
    )
    .describe('Causes of firing alerts that the first cause cannot bring about.'),
  summary,
  action: z.string().describe('What to do first.'),
  alerts: z.array(z.string()).describe('Names of the alerts that fired at that step.'),
  run_id: z.string().nullable().describe('The golden run that was looked at.'),
  reference_run_id: z.string().nullable().describe('The good run that it was held against.'),
  causes: z
    .array(
      z.object({
        cause: z.enum(causes),
        probability: z.number().min(0).max(1),
        supporting: z.array(z.string()).describe('Evidence for it, the weightiest first.'),
        opposing: z.array(z.string()).describe('Evidence against it, the weightiest first.'),
      }),
    )
    .describe('The likeliest first; their probabilities sum to 1.'),
  signs: z.array(sign).describe('Everything that was read; what was not measured is not here.'),
  effects: z
    .array(
      z.object({
        kind: z.enum(effectKinds),
        size: z.number().describe('0 where the measure is as it was in the last good run.'),
        parts: z.record(z.string(), z.number()).nullable().describe('The queries that make it up, where known.'),
      }),
    )
    .describe('Firing alerts that can be compared with the time before.'),
  failed_share: z.number().nullable().describe('Share of the golden queries that failed; null without a run.'),
};

const time = z.iso.datetime();

export const incidentSchema = z.object({
  id: z.string(),
  opened_at: time,
  closed_at: time.nullable().describe('Null while something is in alarm.'),
  closed_because: z
    .enum(closingReasons)
    .nullable()
    .describe('`left_config`: what fired is no longer configured, and was not seen to recover. Null while open.'),
  severity: z.enum(severities).describe('The worst that it came to.'),
  confirmed_at: time.nullable().describe('When its cause had been looked for twice; null before: a first guess.'),
  diagnosed_at: time.describe('When what follows was said. It stays as it was said, also when all recovers.'),
  ...findingsShape,
  timeline: z
    .array(
      z.object({
        name: z.string(),
        rule: z.string().describe('The alert rule that carries the same.'),
        golden_set: z.string().nullable(),
        severity: z.enum(severities).describe('The worst that it came to.'),
        currentSeverity: z.enum(severities).nullable().describe('How it stands; null when it is over.'),
        opened_at: time,
        ended_at: time.nullable(),
        critical_at: z.array(time).describe('When it became critical.'),
        worst: z.object({ at: time, headline: z.string(), text: z.string(), value: z.number().nullable() }),
        recovered: z.string().nullable().describe('What was measured when it was over; null without a measurement.'),
      }),
    )
    .describe('Each alarm of it: when it rang, and how it was at its worst.'),
  earlier: z
    .array(
      z.object({
        diagnosed_at: time,
        cause,
        confidence,
        probability: findingsShape.probability,
        summary,
        also: findingsShape.also,
        alerts: findingsShape.alerts,
        run_id: findingsShape.run_id,
        signs: findingsShape.signs,
        effects: findingsShape.effects,
        failed_share: findingsShape.failed_share,
      }),
    )
    .describe('What was said before, the latest first, each with the evidence that it rested on.'),
});

const findingsSchema = z.object(findingsShape);
type FindingsJson = z.infer<typeof findingsSchema>;
export type IncidentJson = z.infer<typeof incidentSchema>;

/** What a diagnosis is over the wire, beside the record that it stands in. */
function findingsOf(diagnosis: Diagnosis) {
  const { cause, ranked } = diagnosis;
  const beside = besideOf(diagnosis);
  return {
    ...diagnosis,
    alternatives: beside === null ? [] : [beside],
    tellApart: beside === null ? null : tellApart(cause, beside.cause),
    action: causeTexts[cause].action,
    causes: ranked.map(({ supporting, opposing, ...one }) => ({
      ...one,
      supporting: sentencesOf(supporting),
      opposing: sentencesOf(opposing),
    })),
    signs: signsOf(diagnosis.signs, diagnosis.weighed),
  };
}

function signsOf(signs: readonly Sign[], weighed: readonly SignName[]) {
  return signs.map(({ name, ...read }) => ({ ...read, sign: name, weighed: weighed.includes(name) }));
}

function sentencesOf(signs: readonly Sign[]): string[] {
  return signs.map(({ sentence }) => sentence);
}

function findingsJson(diagnosis: Diagnosis): FindingsJson {
  return toWire(findingsSchema, findingsOf(diagnosis));
}

export function incidentJson(incident: Incident): IncidentJson {
  const earlier = incident.earlier.map((one) => ({ ...one, signs: signsOf(one.signs, one.weighed) }));
  return toWire(incidentSchema, { ...incident, ...findingsOf(incident), earlier });
}

export function pipelineDiagnosisJson({ pipeline, latest, now }: PipelineDiagnosis) {
  return { pipeline, latest: latest && incidentJson(latest), now: now && findingsJson(now) };
}
