import { Writable } from 'node:stream';

/** Collects output instead of writing it to stdout. */
export class CollectedOutput extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}
