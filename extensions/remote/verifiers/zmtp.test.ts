import "../../../test/loopback.ts";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type DealerOptions, frame, greeting, openDealer, ready, ZmtpError, ZmtpReader } from "./zmtp.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/** The bytes of rfc.zeromq.org/spec/23, one part a line. */
test("greeting, frames and the command READY are those of ZMTP 3.0", () => {
  const parts = [
    ...["ff00000000000000017f", "0300"], // signature, version 3.0
    ...["4e554c4c".padEnd(40, "0"), "00", "0".repeat(62)], // NULL, not the server, filler
  ];
  expect(hex(greeting())).toBe(parts.join(""));
  expect(hex(frame(Buffer.from("ab")))).toBe("00026162");
  expect(hex(frame(Buffer.from("ab"), { more: true }))).toBe("01026162");
  expect(hex(frame(Buffer.alloc(0), { command: true }))).toBe("0400");
  expect(hex(frame(Buffer.alloc(255)).subarray(0, 2))).toBe("00ff");
  expect(hex(frame(Buffer.alloc(256), { more: true }).subarray(0, 9))).toBe("030000000000000100");
  expect(frame(Buffer.alloc(256))).toHaveLength(265);
  expect(ready().toString("latin1")).toBe("\x04\x29\x05READY\x0bSocket-Type\0\0\0\x06DEALER\x08Identity\0\0\0\0");
});

const withGreeting = (change: (bytes: Buffer) => void) => {
  const bytes = greeting();
  change(bytes);
  return bytes;
};

test.each<[string, Buffer, string]>([
  ["another first byte", Buffer.from("H"), "the peer does not speak ZMTP"],
  ["another signature", withGreeting((bytes) => bytes.fill(0, 9, 10)).subarray(0, 10), "the peer does not speak ZMTP"],
  ["version 2", withGreeting((bytes) => bytes.fill(2, 10, 11)).subarray(0, 11), "the peer speaks ZMTP 2, expected 3"],
  [
    "a mechanism",
    withGreeting((bytes) => bytes.write("PLAIN", 12, "latin1")),
    "the peer asks for the security mechanism PLAIN, expected none",
  ],
  ["flags of no frame", Buffer.concat([greeting(), Buffer.from([8, 0])]), "a frame with flags 8"],
])("%s is refused as soon as it is read", (_, bytes, message) => {
  expect(() => new ZmtpReader(100).read(bytes)).toThrow(new ZmtpError("not-zmtp", message));
  // All but the last byte are no reason.
  expect(new ZmtpReader(100).read(bytes.subarray(0, -1))).toEqual([]);
});

test("a peer of version 3.1 is read, byte by byte", () => {
  const reader = new ZmtpReader(100);
  const bytes = Buffer.concat([
    withGreeting((given) => given.fill(1, 11, 12)),
    ready(),
    frame(Buffer.from("a"), { more: true }),
    frame(Buffer.alloc(0)),
    frame(Buffer.alloc(0), { command: true }),
  ]);
  const received = [...bytes].flatMap((byte) => reader.read(Buffer.from([byte])));
  expect(received).toEqual([
    { kind: "command", name: "READY", body: expect.anything() },
    { kind: "message", frames: [Buffer.from("a"), Buffer.alloc(0)] },
    { kind: "command", name: "", body: Buffer.alloc(0) },
  ]);
  expect(String(received[0]?.kind === "command" && received[0].body.subarray(0, 12))).toBe("\x0bSocket-Type");
});

test("a message is as large as all of its frames; commands, and messages before, do not count", () => {
  const reader = new ZmtpReader(60);
  reader.read(greeting());
  const half = (more: boolean) => frame(Buffer.alloc(30), { more });
  expect(reader.read(Buffer.concat([half(true), half(false), ready(), half(true), half(false)]))).toHaveLength(3);
  expect(() => reader.read(Buffer.concat([half(true), half(true), frame(Buffer.alloc(1)).subarray(0, 2)]))).toThrow(
    new ZmtpError("too-large", "a message of more than 60 bytes"),
  );
});

// ---- on a connection

const open: { server: Server; sockets: Socket[] }[] = [];
afterEach(() => {
  for (const { server, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});

async function dealer(peer: (socket: Socket) => void, change: Partial<DealerOptions> = {}, path?: string) {
  const sockets: Socket[] = [];
  const heard: Buffer[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (part) => heard.push(part));
    peer(socket);
  });
  open.push({ server, sockets });
  await new Promise<void>((resolve) =>
    path === undefined ? server.listen(0, "127.0.0.1", resolve) : server.listen(path, resolve),
  );
  const address = server.address();
  const messages: string[][] = [];
  const ends: string[] = [];
  const made = openDealer({
    address:
      typeof address === "object" && address !== null && path === undefined ? `tcp://127.0.0.1:${address.port}` : `ipc://${path}`,
    ...{ connectTimeoutMs: 5000, maxBytes: 100 },
    onMessage: (frames) => messages.push(frames.map(String)),
    onEnd: (error) => ends.push(error.message),
    ...change,
  });
  made.catch(() => {});
  return { made, messages, ends, sockets, heard: () => Buffer.concat(heard) };
}
const welcome = (socket: Socket) => void socket.write(Buffer.concat([greeting(), ready()]));

test.each([[undefined], ["/tmp/verifiers.sock"]])("frames go both ways, and a ping is answered (path %s)", async (path) => {
  const { made, messages, sockets, heard, ends } = await dealer(welcome, {}, path);
  const { send, close } = await made;
  send([Buffer.from("id"), Buffer.from("run"), Buffer.alloc(0)]);
  // A time to live in two bytes, and a context.
  sockets[0]?.write(frame(Buffer.from("\x04PING\0\x0acontext"), { command: true }));
  sockets[0]?.write(Buffer.concat([frame(Buffer.from("id"), { more: true }), frame(Buffer.from("reply"))]));
  const pong = frame(Buffer.from("\x04PONGcontext"), { command: true });
  const sent = [
    greeting(),
    ready(),
    ...["id", "run"].map((each) => frame(Buffer.from(each), { more: true })),
    frame(Buffer.alloc(0)),
    pong,
  ];
  await expect.poll(() => hex(heard())).toBe(hex(Buffer.concat(sent)));
  expect(messages).toEqual([["id", "reply"]]);
  close();
  await expect.poll(() => ends).toHaveLength(1);
});

test("a peer that refuses, leaves or says nothing is an error with its reason", async () => {
  const refusing = await dealer((socket) =>
    socket.write(Buffer.concat([greeting(), frame(Buffer.from("\x05ERROR\x07no room"), { command: true })])),
  );
  await expect(refusing.made).rejects.toThrow("the peer refused: no room");
  const leaving = await dealer((socket) => socket.end(greeting()));
  await expect(leaving.made).rejects.toThrow(/^tcp:\/\/127\.0\.0\.1:\d+ closed the connection$/);
  const silent = await dealer((socket) => socket.write(greeting()), { connectTimeoutMs: 20 });
  await expect(silent.made).rejects.toThrow(/^no connection to tcp:\/\/127\.0\.0\.1:\d+ within 20 ms$/);
  const other = await dealer((socket) => socket.write("HTTP/1.1 400"));
  await expect(other.made).rejects.toThrow("the peer does not speak ZMTP");
  expect([...refusing.ends, ...leaving.ends, ...silent.ends, ...other.ends]).toEqual([]);
});

test("the end of a connection is said once, with what broke it", async () => {
  const { made, sockets, ends } = await dealer(welcome);
  await made;
  sockets[0]?.write(Buffer.from([8, 0]));
  await expect.poll(() => ends).toEqual(["a frame with flags 8"]);
  const left = await dealer(welcome);
  await left.made;
  left.sockets[0]?.end();
  await expect.poll(() => left.ends).toEqual([expect.stringMatching(/closed the connection$/)]);
});
