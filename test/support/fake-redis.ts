/**
 * A RESP2 server over TCP with the vector commands that Debian's Redis lacks, as described in github.com/redis/docs
 * (content/commands/{vadd,vsim,vrange,vemb,vinfo,vismember,vgetattr}.md and ft.{create,search,aggregate,info}.md).
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

export type Resp = string | Buffer | number | null | Error | readonly Resp[];

/** Answers one command; an Error becomes an error reply, and undefined sends no reply. */
export type RespHandler = (name: string, args: readonly Buffer[]) => Resp | undefined;

export interface RespServer {
  readonly url: string;
  /** Every command with its arguments as text; `<N bytes>` for binary arguments. */
  readonly commands: readonly (readonly string[])[];
  close(): Promise<void>;
}

export async function startRespServer(handle: RespHandler): Promise<RespServer> {
  const commands: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let pending = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (let parsed = parse(pending); parsed !== null; parsed = parse(pending)) {
        pending = pending.subarray(parsed.length);
        const [name = Buffer.alloc(0), ...args] = parsed.args;
        const command = name.toString().toUpperCase();
        commands.push([command, ...args.map(shown)]);
        const reply = handle(command, args);
        if (reply !== undefined) socket.write(encode(reply));
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    commands,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export function unknownCommand(name: string): Error {
  return new Error(`ERR unknown command '${name}', with args beginning with: `);
}

function shown(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  const isText = !text.includes('\ufffd') && bytes.every((byte) => byte > 8);
  return isText ? text : `<${bytes.length} bytes>`;
}

/** Returns the command at the start of the bytes; null if part of the command has not arrived yet. */
function parse(bytes: Buffer): { args: Buffer[]; length: number } | null {
  const head = line(bytes, 0);
  if (head === null) return null;
  const args: Buffer[] = [];
  let at = head.next;
  for (let left = Number(head.text.slice(1)); left > 0; left -= 1) {
    const size = line(bytes, at);
    if (size === null) return null;
    const end = size.next + Number(size.text.slice(1));
    if (bytes.length < end + 2) return null;
    args.push(bytes.subarray(size.next, end));
    at = end + 2;
  }
  return { args, length: at };
}

function line(bytes: Buffer, from: number): { text: string; next: number } | null {
  const end = bytes.indexOf('\r\n', from);
  return end < 0 ? null : { text: bytes.toString('latin1', from, end), next: end + 2 };
}

function encode(reply: Resp): Buffer {
  if (reply === null) return Buffer.from('$-1\r\n');
  if (reply instanceof Error) return Buffer.from(`-${reply.message}\r\n`);
  if (typeof reply === 'number') return Buffer.from(`:${reply}\r\n`);
  if (typeof reply === 'string' || Buffer.isBuffer(reply)) {
    const bytes = Buffer.from(reply as string);
    return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);
  }
  return Buffer.concat([Buffer.from(`*${reply.length}\r\n`), ...reply.map(encode)]);
}
