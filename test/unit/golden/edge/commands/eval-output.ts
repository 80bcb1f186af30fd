import { Writable } from 'node:stream';

/** Collects output in place of standard output. */
export class CollectedOutput extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}
