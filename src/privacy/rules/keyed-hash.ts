/** Stand-ins for texts and user ids: the same input gives the same stand-in, and without the key nobody can guess. */
import { createHmac } from 'node:crypto';

/** Fewer bytes could be tried out. */
const MIN_KEY_BYTES = 16;

/**
 * HMAC-SHA-256 of a query text, for pipelines that keep no text: equal questions stay countable. Texts are equal when
 * they are so after Unicode normalisation (NFC), without white space at either end and without regard to case.
 *
 * @param key the secret of this installation, at least 16 bytes; another key gives unrelated hashes
 * @returns 64 hexadecimal digits
 * @throws RangeError for a shorter key, which the config schema refuses
 */
export function textHash(text: string, key: string): string {
  return keyedHash('recalld/text/v1', foldCase(text.normalize('NFC').trim()).normalize('NFC'), key);
}

/**
 * HMAC-SHA-256 of a user id as it stands; the id itself is never stored. Erasure of a user finds rows by it.
 *
 * @param key as for `textHash`, from which it is separated: a text that is an id has another hash
 * @returns 64 hexadecimal digits
 * @throws RangeError for a shorter key, which the config schema refuses
 */
export function userIdHmac(userId: string, key: string): string {
  return keyedHash('recalld/user/v1', userId, key);
}

function keyedHash(domain: string, value: string, key: string): string {
  if (Buffer.byteLength(key) < MIN_KEY_BYTES) {
    throw new RangeError(`The key of hashes must have at least ${MIN_KEY_BYTES} bytes.`);
  }
  return createHmac('sha256', key).update(`${domain}\0`).update(value).digest('hex');
}

/** Upper case in between brings together what lower case alone keeps apart, such as ß and SS. */
function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase();
}
