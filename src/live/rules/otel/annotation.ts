/** Annotations and evaluations as spans and log records carry them. */
import {
  readFirst,
  readFlattened,
  readNumber,
  readObject,
  readShortText,
  readString,
  readText,
} from './attribute.ts';
import type { Attributes } from './span.ts';

export interface Annotation {
  /** What was judged: the span, or its whole trace, or the session. */
  readonly scope: 'span' | 'trace' | 'session';
  readonly name: string;
  readonly score: number | null;
  readonly label: string | null;
  readonly explanation: string | null;
  /** Who judged: HUMAN, LLM, CODE or a word of the service's own; null when it is not told. */
  readonly annotatorKind: string | null;
  /** Tells judgments of the same thing by the same name apart; null when there is only one. */
  readonly identifier: string | null;
  readonly metadata: Attributes | null;
}

/** The name of the event with which OTel GenAI tells of an evaluation. */
export const EVALUATION_EVENT = 'gen_ai.evaluation.result';

/**
 * The annotations on a span, by OpenInference's `annotations.N.annotation.*` or `evaluations.N.evaluation.*`, alone or
 * behind `trace.` or `session.`. A judgment that is told in both forms is one.
 */
export function readAnnotations(attributes: Attributes): readonly Annotation[] {
  const found = new Map<string, Annotation>();
  for (const [scope, prefix] of scopes) {
    for (const form of ['annotation', 'evaluation']) {
      for (const fields of readFlattened(attributes, `${prefix}${form}s`) ?? []) {
        const annotation = readAnnotation(fields, scope, form, `${form}.score`, `${form}.label`);
        if (annotation !== null) found.set(JSON.stringify(annotation), annotation);
      }
    }
  }
  return [...found.values()];
}

/** The evaluation that an event or log record `gen_ai.evaluation.result` tells of; null when it names none. */
export function readEvaluationEvent(attributes: Attributes): Annotation | null {
  const form = 'gen_ai.evaluation';
  return readAnnotation(attributes, 'span', form, `${form}.score.value`, `${form}.score.label`);
}

const scopes = [
  ['span', ''],
  ['trace', 'trace.'],
  ['session', 'session.'],
] as const;

function readAnnotation(
  fields: Attributes,
  scope: Annotation['scope'],
  form: string,
  scoreName: string,
  labelName: string,
): Annotation | null {
  const name = readShortText(fields[`${form}.name`]);
  if (name === null) return null;
  // The event has no field for these; OpenInference asks gateways to keep them as further attributes.
  const either = (field: string) => [`${form}.${field}`, `annotation.${field}`];
  return {
    scope,
    name,
    score: readNumber(fields[scoreName]),
    label: readShortText(fields[labelName]),
    explanation: readText(fields[`${form}.explanation`]),
    annotatorKind: readFirst(fields, either('annotator_kind'), readString),
    identifier: readFirst(fields, either('identifier'), readString),
    metadata: readFirst(fields, either('metadata'), readObject),
  };
}
