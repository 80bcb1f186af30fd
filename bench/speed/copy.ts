/** COPY of complete texts over a `pg` connection, as a reference for the speed of writing rows. */
import type { Client, Connection, Submittable } from 'pg';

/** Methods that a query calls on a `pg` connection, but that the type definitions of `pg` lack. */
interface CopyConnection extends Connection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

abstract class Copy implements Submittable {
  protected readonly chunks: Buffer[] = [];
  readonly done: Promise<Buffer>;
  #resolve!: (all: Buffer) => void;
  #reject!: (error: Error) => void;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
  submit(connection: Connection): void {
    (connection as CopyConnection).query(this.#text);
  }
  handleError(error: Error): void {
    this.#reject(error);
  }
  handleReadyForQuery(): void {
    this.#resolve(Buffer.concat(this.chunks));
  }
  handleCommandComplete(): void {}
}

class CopyOut extends Copy {
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    // The parser reuses this buffer for the next message.
    this.chunks.push(Buffer.from(chunk));
  }
}

class CopyIn extends Copy {
  readonly #data: Buffer;

  constructor(text: string, data: Buffer) {
    super(text);
    this.#data = data;
  }
  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#data);
    connection.endCopyFrom();
  }
}

/** Returns the rows of a query in COPY's text format. */
export function copyOut(client: Client, query: string): Promise<Buffer> {
  return client.query(new CopyOut(`copy (${query}) to stdout`)).done;
}

export async function copyIn(client: Client, table: string, rows: Buffer): Promise<void> {
  await client.query(new CopyIn(`copy ${table} from stdin`, rows)).done;
}
