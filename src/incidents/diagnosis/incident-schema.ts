/** Schemas of diagnoses and incidents in the output of the API, the commands and the report. */
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
  from: z.iso
    .datetime()
    .nullable()
    .describe(
      'Start of the measured period; null for signs of the diagnosed golden run, and for signs that are not measured over a period.',
    ),
  n: z.number().nullable().describe('Sample size; null if the sign is not based on a sample.'),
  values: z
    .object({ before: z.number().nullable(), now: z.number(), unit: z.string() })
    .optional()
    .describe('The measured number before the alert and at the time of the alert; absent for a sign without a number.'),
  weighed: z
    .boolean()
    .describe('False if the diagnosis ignores this evidence, for example because it predates the onset.'),
});
const cause = z
  .enum(causes)
  .describe(
    'The likely cause; `unknown` unless one cause, or a pair of alternatives, is more likely than all other causes together.',
  );
const confidence = z.enum(confidences);
const summary = z.string().describe('Cause, evidence and first action in one line.');

const findingsShape = {
  pipeline: z.string(),
  cause,
  confidence,
  probability: z
    .number()
    .min(0)
    .max(1)
    .describe('Posterior probability of this cause alone, without its alternatives.'),
  alternatives: z
    .array(z.object({ cause: z.enum(causes), probability: z.number().min(0).max(1) }))
    .describe('Causes that the evidence cannot distinguish from the first cause.'),
  tell_apart: z.string().nullable().describe('How to distinguish the cause from its alternative.'),
  also: z
    .array(
      z.object({ cause: z.enum(causes), confidence, probability: z.number(), effects: z.array(z.enum(effectKinds)) }),
    )
    .describe('Causes of those firing alerts that the first cause does not explain.'),
  summary,
  action: z.string().describe('What to do first.'),
  alerts: z.array(z.string()).describe('Names of the alerts that were firing at the time of the diagnosis.'),
  run_id: z.string().nullable().describe('The golden run that was diagnosed.'),
  reference_run_id: z.string().nullable().describe('The good run that the diagnosed run was compared with.'),
  causes: z
    .array(
      z.object({
        cause: z.enum(causes),
        probability: z.number().min(0).max(1),
        supporting: z.array(z.string()).describe('Evidence for the cause, strongest first.'),
        opposing: z.array(z.string()).describe('Evidence against the cause, strongest first.'),
      }),
    )
    .describe('All causes, most likely first. The probabilities sum to 1.'),
  signs: z.array(sign).describe('All measured signs, including those that the diagnosis ignores.'),
  effects: z
    .array(
      z.object({
        kind: z.enum(effectKinds),
        size: z.number().describe('Size of the change; 0 if the measure has not changed since the last good run.'),
        parts: z
          .record(z.string(), z.number())
          .nullable()
          .describe(
            'Size of each part of the effect, such as `timed_out`; the sizes add up to `size`. Null if the parts are unknown.',
          ),
      }),
    )
    .describe('Effects of the firing alerts, except effects that cannot be compared with earlier values.'),
  failed_share: z
    .number()
    .nullable()
    .describe('Share of the golden queries that failed; null if no golden run was examined.'),
};

const time = z.iso.datetime();

const markSchema = z.object({
  cause: z.enum(causes).describe('The marked cause.'),
  confidence,
  is_right: z.boolean(),
  actual_cause: z
    .enum(causes)
    .nullable()
    .describe('The actual cause; null if the diagnosed cause was right, or if the actual cause is unknown.'),
  marked_at: time,
  marked_by: z.string(),
});

export const reliabilitySchema = z.object({
  items: z.array(
    z.object({
      confidence,
      marked: z.int().describe('Number of causes that users marked as right or wrong.'),
      right: z.int(),
      share: z.number().nullable().describe('Share of the marked causes that were right; null if no cause is marked.'),
      ci_low: z.number().nullable(),
      ci_high: z.number().nullable(),
    }),
  ),
});

export const incidentSchema = z.object({
  id: z.string(),
  opened_at: time,
  closed_at: time.nullable().describe('When the incident closed; null while an alert fires.'),
  closed_because: z
    .enum(closingReasons)
    .nullable()
    .describe(
      'Why the incident closed; null while it is open. `left_config`: the alerts were removed from the config before they were resolved.',
    ),
  severity: z.enum(severities).describe('Worst severity during the incident.'),
  acknowledged_at: time.nullable().describe('When a user acknowledged the incident; null until then.'),
  acknowledged_by: z
    .string()
    .nullable()
    .describe(
      'Person or API key that acknowledged the incident; null if the incident is not acknowledged, or if API keys are not required.',
    ),
  mark: markSchema.nullable().describe("The user's mark; null unless a user marked the cause as right or wrong."),
  confirmed_at: time.nullable().describe('When a second diagnosis confirmed or corrected the cause; null until then.'),
  diagnosed_at: time.describe('Time of the latest change to the diagnosis.'),
  ...findingsShape,
  timeline: z
    .array(
      z.object({
        name: z.string(),
        rule: z.string().describe('The Prometheus alert rule with the same condition.'),
        golden_set: z.string().nullable(),
        severity: z.enum(severities).describe('Worst severity that the alert reached.'),
        current_severity: z.enum(severities).nullable().describe('Current severity; null if the alert is resolved.'),
        opened_at: time,
        ended_at: time.nullable(),
        critical_at: z.array(time).describe('Times at which the alert became critical.'),
        worst: z.object({ at: time, headline: z.string(), text: z.string(), value: z.number().nullable() }),
        recovered: z
          .string()
          .nullable()
          .describe(
            'The measurement that resolved the alert, such as `nDCG@10 recovered to 0.82`; null while the alert fires, or if nothing was measured.',
          ),
      }),
    )
    .describe('Alerts of the incident, with their times and worst values.'),
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
    .describe('Earlier diagnoses with their evidence, newest first.'),
});

const findingsSchema = z.object(findingsShape);
export type IncidentJson = z.infer<typeof incidentSchema>;

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
      supporting: supporting.map(({ sentence }) => sentence),
      opposing: opposing.map(({ sentence }) => sentence),
    })),
    signs: signsOf(diagnosis.signs, diagnosis.weighed),
  };
}

function signsOf(signs: readonly Sign[], weighed: readonly SignName[]) {
  return signs.map(({ name, ...read }) => ({ ...read, sign: name, weighed: weighed.includes(name) }));
}

export function incidentJson(incident: Incident): IncidentJson {
  const earlier = incident.earlier.map((one) => ({ ...one, signs: signsOf(one.signs, one.weighed) }));
  return toWire(incidentSchema, { ...incident, ...findingsOf(incident), earlier });
}

export function pipelineDiagnosisJson({ pipeline, latest, now }: PipelineDiagnosis) {
  return { pipeline, latest: latest && incidentJson(latest), now: now && toWire(findingsSchema, findingsOf(now)) };
}
