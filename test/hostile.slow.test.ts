import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Random, randomStream } from "../src/core/random.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** Every server, asked by raw sockets: malformed requests and upgrades, frames of nonsense, connections that are half closed or reset. */

/** Packets for each of the five servers: 10,000 in all, or RETROGRADE_HOSTILE_PACKETS for each. */
const packets = Number(process.env.RETROGRADE_HOSTILE_PACKETS ?? 2_000);
const atATime = 64;
/** A connection that neither answers nor ends is left after this time. */
const patienceMs = 3_000;

const root = mkdtempSync(join(tmpdir(), "retrograde-hostile-"));
const children: ChildProcess[] = [];
beforeAll(() => writeTinyModel(join(root, "model")));
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

const paths = {
  openenv: ["/ws", "/ws?session_id=1", "/health", "/schema", "/metadata", "/mcp", "/reset", "/step", "/counting/tasks"],
  ors: [
    "/health",
    "/create_session",
    "/create",
    "/call",
    "/ping",
    "/delete",
    "/counting/call",
    "/counting/prompt",
    "/counting/task",
  ],
  inference: ["/health", "/v1/models", "/v1/chat/completions", "/inference/v1/generate"],
  tinker: [
    "healthz",
    "create_session",
    "create_model",
    "asample",
    "forward_backward",
    "training_runs/x/checkpoints/weights/y/archive",
  ]
    .concat("retrieve_future", "sessions/x/finish", "save_weights", "weights_info")
    .map((path) => `/api/v1/${path}`),
  dashboard: ["/", "/api/runs", "/api/run?run=x", "/api/run/events?run=x", "/api/report?path=x"],
} as const;
type Name = keyof typeof paths;

const bytesOf = (draw: Random, most: number): Buffer =>
  Buffer.from(Array.from({ length: draw.integer(most) }, () => draw.integer(256)));

const strangePaths = [
  "//",
  "//ws",
  "http://[",
  "http://x/ws",
  "*",
  "",
  "?",
  "/%",
  "/%ff%fe",
  "/%00",
  "/..%2f..%2fetc/passwd",
  "/ws%2f",
].concat("/ws#", "/\t", "/\u0000", "/ ws", `/${"a".repeat(9_000)}`, `/${"a/".repeat(4_000)}`, "/__proto__", "/constructor", "/é");
const strangeHeaders = ["content-length: -1", "content-length: 5\r\ncontent-length: 6", "content-length: 99999999999999999999"]
  .concat("transfer-encoding: chunked", "transfer-encoding: chunked, chunked", "content-encoding: gzip", "content-encoding: br")
  .concat("expect: 100-continue", "expect: 200-ok", "host: evil.example", "host: [", "host:", "origin: http://evil.example")
  .concat(
    "connection: close",
    "connection: upgrade",
    ": nothing",
    "no colon",
    "x: \u0000",
    `x: ${"y".repeat(20_000)}`,
    "x-session-id: 1",
  )
  .concat(
    "content-type: application/json",
    "x-retrograde: 1",
    "cookie: retrograde-token=%",
    "authorization: Bearer ",
    "te: trailers",
  );
const strangeUpgrades = ["upgrade: websocket", "upgrade: h2c", "upgrade: WebSocket, x", "upgrade:", "sec-websocket-key: x"]
  .concat("sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-version: 13", "sec-websocket-version: 99")
  .concat(
    "sec-websocket-protocol: ,,",
    "sec-websocket-extensions: permessage-deflate; x=",
    "connection: Upgrade",
    "connection: keep-alive",
  );
const bodies = [
  "{",
  "[",
  "null",
  '"',
  '{"a":1',
  "{}",
  `${"[".repeat(5_000)}`,
  '{"session_id":1e999}',
  '{"type":"reset","data":{"index":-1}}',
]
  .concat(
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}',
    '{"model":"tiny","messages":[]}',
    '{"tags":[1]}',
  )
  .concat('{"name":"add","input":{"by":"\ud800"}}', "5\r\nabc", "zz\r\n\r\n", "0\r\n\r\n", '{"__proto__":{"x":1}}');

/** A request that is right, wrong in some places, or nothing of the kind. */
function packetFor(name: Name, port: number, draw: Random): Buffer {
  const kind = draw.integer(10);
  if (kind === 0) return bytesOf(draw, 200);
  const known = draw.pick(paths[name]);
  const path = draw.integer(3) === 0 ? draw.pick(strangePaths) : known;
  const method = draw.pick([
    "GET",
    "GET",
    "POST",
    "POST",
    "POST",
    "DELETE",
    "HEAD",
    "OPTIONS",
    "CONNECT",
    "PRI",
    "get",
    "\u0001",
  ]);
  const version = draw.integer(20) === 0 ? draw.pick(["HTTP/0.9", "HTTP/9.9", "HTP/1.1", ""]) : "HTTP/1.1";
  const lines = [`${method} ${path} ${version}`];
  if (draw.integer(20) > 0) lines.push(`host: 127.0.0.1:${port}`);
  const isUpgrade = kind < 4;
  if (isUpgrade && draw.integer(2) === 0)
    lines.push(
      ...["upgrade: websocket", "connection: Upgrade", "sec-websocket-version: 13"],
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    );
  else if (isUpgrade) lines.push(...Array.from({ length: 1 + draw.integer(5) }, () => draw.pick(strangeUpgrades)));
  if (draw.integer(3) === 0) lines.push(...Array.from({ length: 1 + draw.integer(3) }, () => draw.pick(strangeHeaders)));
  const text = Buffer.from(draw.pick(bodies), draw.integer(2) === 0 ? "utf8" : "latin1");
  const body = isUpgrade
    ? framesFor(draw)
    : draw.integer(8) === 0
      ? gzipSync(text)
      : draw.integer(8) === 0
        ? bytesOf(draw, 300)
        : text;
  const announced = draw.integer(6) === 0 ? draw.integer(10_000) : body.length;
  if (!isUpgrade && method === "POST" && draw.integer(8) > 0) lines.push(`content-length: ${announced}`);
  const whole = Buffer.concat([
    Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"),
    method === "POST" || isUpgrade ? body : Buffer.alloc(0),
  ]);
  if (draw.integer(8) === 0) whole[draw.integer(whole.length)] = draw.integer(256);
  return draw.integer(8) === 0 ? whole.subarray(0, draw.integer(whole.length)) : whole;
}

/** Frames of a WebSocket: right ones, with lengths, masks and opcodes that are not, and none at all. */
function framesFor(draw: Random): Buffer {
  const frame = () => {
    const payload = draw.integer(3) === 0 ? bytesOf(draw, 120) : Buffer.from(draw.pick(bodies).slice(0, 120));
    const mask = draw.integer(4) === 0 ? 0 : 0x80;
    const length = draw.integer(5) === 0 ? draw.integer(128) : payload.length;
    const first = draw.integer(3) === 0 ? draw.integer(256) : 0x81;
    return Buffer.concat([Buffer.from([first, mask | length]), Buffer.alloc(mask === 0 ? 0 : 4), payload]);
  };
  return Buffer.concat(Array.from({ length: draw.integer(4) }, frame));
}

/** Sends a packet in one piece or more. @returns what came back before it was answered, left, half closed or reset */
async function sent(port: number, packet: Buffer, draw: Random): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let answer = "";
  const answered = new Promise<void>((resolve) => {
    socket.on("data", (part: Buffer) => {
      answer += part.toString("latin1");
      resolve();
    });
    for (const event of ["error", "close", "end"]) socket.on(event, () => resolve());
  });
  const cut = draw.integer(4) === 0 ? draw.integer(packet.length + 1) : packet.length;
  socket.write(packet.subarray(0, cut));
  if (cut < packet.length) {
    await sleep(1);
    socket.write(packet.subarray(cut));
  }
  const waits = draw.integer(4) > 0;
  // Half closed: what is incomplete is answered or ended too.
  if (waits) socket.end();
  await Promise.race([answered, sleep(waits ? patienceMs : draw.integer(5))]);
  if (draw.integer(2) === 0) socket.resetAndDestroy();
  else socket.destroy();
  return answer;
}

async function start(name: Name): Promise<{ port: number; child: ChildProcess; output: () => string }> {
  const program = join(import.meta.dirname, "hostile-process.ts");
  const child = spawn(process.execPath, ["--import", import.meta.resolve("jiti/register"), program, name, root]);
  children.push(child);
  let output = "";
  child.stderr.on("data", (part: Buffer) => (output += part.toString()));
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.on("data", (part: Buffer) => resolve(Number(/port (\d+)/.exec(part.toString())?.[1])));
    child.on("exit", () => reject(new Error(output)));
  });
  return { port, child, output: () => output };
}

test.each(Object.keys(paths) as Name[])(
  `%s survives ${packets} malformed requests, upgrades and connections, and answers none of them with its own fault`,
  async (name) => {
    const { port, child, output } = await start(name);
    const faults = new Set<string>();
    let [next, answered] = [0, 0];
    const worker = async () => {
      for (let i = next++; i < packets && child.exitCode === null && child.signalCode === null; i = next++) {
        const draw = randomStream(1, "hostile", name, i);
        const packet = packetFor(name, port, draw);
        const answer = await sent(port, packet, draw);
        answered += Number(answer !== "");
        const status = /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1];
        if (status === "500") faults.add(`${i}: ${packet.toString("latin1").slice(0, 300)} → ${answer.slice(0, 500)}`);
      }
    };
    await Promise.all(Array.from({ length: atATime }, worker));
    expect({ ended: child.exitCode ?? child.signalCode, output: output() }).toEqual({ ended: null, output: "" });
    expect([...faults].slice(0, 3)).toEqual([]);
    expect(answered).toBeGreaterThan(packets / 4);
    const healthy = await fetch(`http://127.0.0.1:${port}${paths[name][name === "openenv" ? 2 : 0]}`);
    expect(healthy.status).toBe(200);
    const resident = /VmRSS:\s+(\d+) kB/.exec(
      process.platform === "linux" ? readFileSync(`/proc/${child.pid}/status`, "utf8") : "",
    );
    if (resident !== null) expect(Number(resident[1]) / 1024).toBeLessThan(1024);
    child.kill("SIGKILL");
  },
  600_000,
);
