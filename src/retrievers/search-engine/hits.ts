/** Reads the answer of a search of Elasticsearch or OpenSearch; both have the same form. */

import { fieldAt, fieldsOf } from '../../outbound/json-value.ts';
import { readId } from '../read-id.ts';
import type { FoundDocument } from '../retriever.ts';
import type { Dialect } from './dialect.ts';

export interface HitFields {
  /** `_id`, or a field of `_source`. */
  readonly id: string;
  /** Field of the text, null when the text is not wanted. */
  readonly content: string | null;
  readonly configField: string;
}

export type HitReading =
  | { readonly kind: 'documents'; readonly documents: readonly FoundDocument[] }
  | { readonly kind: 'error'; readonly code: string; readonly message: string };

/**
 * The hits as documents. An answer that stands for a part of the index only is an error and no ranking:
 * `search_timed_out` and `shards_failed`; so are `no_result_list` and `missing_id`.
 */
export function readHits(json: unknown, engine: Dialect['name'], fields: HitFields): HitReading {
  const error = (code: string, problem: string): HitReading => ({
    kind: 'error',
    code,
    message: `${engine} ${problem}.`,
  });
  const answer = fieldsOf(json);
  const list = fieldsOf(answer['hits'])['hits'];
  if (!Array.isArray(list)) {
    return error('no_result_list', `answered without hits.hits; check ${fields.configField}.url`);
  }
  if (answer['timed_out'] === true) {
    return error('search_timed_out', 'gave up before it had searched the whole index; look at its load');
  }
  const failed = fieldsOf(answer['_shards'])['failed'];
  if (typeof failed === 'number' && failed > 0) {
    return error('shards_failed', `answered without ${failed} shards of the index; look at their state`);
  }
  const documents: FoundDocument[] = [];
  for (const [place, hit] of (list as unknown[]).entries()) {
    const parts = fieldsOf(hit);
    const source = parts['_source'];
    const id = readId(fields.id === '_id' ? parts['_id'] : fieldAt(source, fields.id));
    if (id === null) {
      const where = `${fields.configField}.id is ${fields.id}`;
      return error('missing_id', `gave no usable id for the hit at rank ${place + 1}: ${where}`);
    }
    const score = typeof parts['_score'] === 'number' ? parts['_score'] : null;
    const text = fields.content === null ? null : fieldAt(source, fields.content);
    documents.push(
      fields.content === null ? { id, score } : { id, score, text: typeof text === 'string' ? text : null },
    );
  }
  return { kind: 'documents', documents };
}
