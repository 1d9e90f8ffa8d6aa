import { connect } from "node:net";

/**
 * The client's side of ZMTP 3.0 (rfc.zeromq.org/spec/23): a DEALER socket without security, one connection, messages of several frames. This is what
 * a libzmq ROUTER of any version from 4.0 speaks, so no native library is needed.
 */

/** Greeting: signature, version 3.0, mechanism NULL, not the server. 64 bytes. */
export function greeting(): Buffer {
  const bytes = Buffer.alloc(64);
  bytes[0] = 0xff;
  bytes[8] = 1;
  bytes[9] = 0x7f;
  bytes[10] = 3;
  bytes.write("NULL", 12, "latin1");
  return bytes;
}

const more = 1;
const long = 2;
const command = 4;

export function frame(body: Uint8Array, flags: { readonly more?: boolean; readonly command?: boolean } = {}): Buffer {
  const bits = (flags.more ? more : 0) | (flags.command ? command : 0);
  const header = body.length > 255 ? Buffer.alloc(9) : Buffer.alloc(2);
  if (body.length > 255) {
    header[0] = bits | long;
    header.writeBigUInt64BE(BigInt(body.length), 1);
  } else {
    header[0] = bits;
    header[1] = body.length;
  }
  return Buffer.concat([header, body]);
}

/** The command READY of a DEALER without an identity. A length is before each name (a byte) and each value (four). */
export function ready(): Buffer {
  return frame(Buffer.from("\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0", "latin1"), { command: true });
}

/** A message or command that a peer sent. */
export type Received =
  | { readonly kind: "message"; readonly frames: readonly Buffer[] }
  | { readonly kind: "command"; readonly name: string; readonly body: Buffer };

/** Reads a peer's bytes, in parts that may end anywhere. */
export class ZmtpReader {
  readonly #maxBytes: number;
  #bytes: Buffer = Buffer.alloc(0);
  #greeted = false;
  #frames: Buffer[] = [];
  #size = 0;

  /** @param maxBytes of one message */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @throws ZmtpError for bytes that are not ZMTP 3, and messages that are too large */
  read(part: Buffer): Received[] {
    this.#bytes = this.#bytes.length === 0 ? part : Buffer.concat([this.#bytes, part]);
    const received: Received[] = [];
    if (!this.#greeted) {
      if (!this.#readGreeting()) return received;
      this.#greeted = true;
    }
    for (let next = this.#readFrame(); next !== undefined; next = this.#readFrame()) {
      const { flags, body } = next;
      if (flags & command) {
        const length = body[0] ?? 0;
        received.push({ kind: "command", name: body.toString("latin1", 1, 1 + length), body: body.subarray(1 + length) });
      } else {
        this.#frames.push(body);
        if (flags & more) continue;
        received.push({ kind: "message", frames: this.#frames });
        this.#frames = [];
        this.#size = 0;
      }
    }
    return received;
  }

  #readGreeting(): boolean {
    const bytes = this.#bytes;
    if ((bytes.length > 0 && bytes[0] !== 0xff) || (bytes.length > 9 && (bytes.readUInt8(9) & 1) === 0))
      throw new ZmtpError("not-zmtp", "the peer does not speak ZMTP");
    if (bytes.length > 10 && bytes.readUInt8(10) < 3)
      throw new ZmtpError("not-zmtp", `the peer speaks ZMTP ${bytes[10]}, expected 3`);
    if (bytes.length < 64) return false;
    const mechanism = bytes.toString("latin1", 12, 32).replace(/\0+$/, "");
    if (mechanism !== "NULL")
      throw new ZmtpError("not-zmtp", `the peer asks for the security mechanism ${mechanism}, expected none`);
    this.#bytes = bytes.subarray(64);
    return true;
  }

  #readFrame(): { readonly flags: number; readonly body: Buffer } | undefined {
    const bytes = this.#bytes;
    if (bytes.length < 2) return undefined;
    const flags = bytes.readUInt8(0);
    if (flags > 7) throw new ZmtpError("not-zmtp", `a frame with flags ${flags}`);
    const header = flags & long ? 9 : 2;
    if (bytes.length < header) return undefined;
    const size = flags & long ? Number(bytes.readBigUInt64BE(1)) : bytes.readUInt8(1);
    if (this.#size + size > this.#maxBytes) throw new ZmtpError("too-large", `a message of more than ${this.#maxBytes} bytes`);
    if (bytes.length < header + size) return undefined;
    if (!(flags & command)) this.#size += size;
    this.#bytes = bytes.subarray(header + size);
    return { flags, body: bytes.subarray(header, header + size) };
  }
}

export class ZmtpError extends Error {
  readonly problem: "not-zmtp" | "too-large";
  constructor(problem: "not-zmtp" | "too-large", message: string) {
    super(message);
    this.problem = problem;
  }
}

export interface DealerOptions {
  /** `tcp://HOST:PORT` or `ipc://PATH`. */
  readonly address: string;
  readonly connectTimeoutMs: number;
  readonly maxBytes: number;
  readonly onMessage: (frames: readonly Buffer[]) => void;
  /** Called once, when the connection is over. */
  readonly onEnd: (error: Error) => void;
}

/** A DEALER socket on one connection. It does not reconnect: whoever waits for an answer has to learn that it will not come. */
export interface Dealer {
  send(frames: readonly Uint8Array[]): void;
  /** Closes the connection; data that was sent before still goes out. */
  close(): void;
}

/** @throws Error if there is no connection in time, ZmtpError if the peer speaks something else */
export async function openDealer({ address, connectTimeoutMs, maxBytes, onMessage, onEnd }: DealerOptions): Promise<Dealer> {
  const socket = connect(target(address));
  socket.setNoDelay(true);
  const reader = new ZmtpReader(maxBytes);
  let isReady = false;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection to ${address} within ${connectTimeoutMs} ms`)),
      connectTimeoutMs,
    );
    let failure: Error | undefined;
    socket.on("connect", () => socket.write(greeting()));
    socket.on("data", (part) => {
      try {
        for (const received of reader.read(part)) {
          if (received.kind === "message") onMessage(received.frames);
          else if (received.name === "READY") {
            clearTimeout(timer);
            isReady = true;
            resolve();
          } else if (received.name === "ERROR")
            socket.destroy(new Error(`the peer refused: ${received.body.toString("latin1", 1)}`));
          // ZMTP 3.1 peers may ping: the answer carries their context back.
          else if (received.name === "PING")
            socket.write(frame(Buffer.concat([Buffer.from("\x04PONG"), received.body.subarray(2)]), { command: true }));
        }
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    // Commands follow the greeting; a peer reads them once it has ours.
    socket.once("connect", () => socket.write(ready()));
    socket.on("error", (error) => {
      failure ??= error;
    });
    socket.on("close", () => {
      clearTimeout(timer);
      const error = failure ?? new Error(`${address} closed the connection`);
      if (isReady) onEnd(error);
      else reject(error);
    });
  });
  return {
    send: (frames) => void socket.write(Buffer.concat(frames.map((body, i) => frame(body, { more: i < frames.length - 1 })))),
    close: () => socket.destroySoon(),
  };
}

function target(address: string): { readonly host: string; readonly port: number } | { readonly path: string } {
  const { protocol, hostname, port } = new URL(address);
  if (protocol === "ipc:") return { path: address.slice("ipc://".length) };
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
}
