// @ts-check
/**
 * The program of a Python process. Plain JavaScript, because Node 20 starts it as it is.
 * It reads requests from a pipe and writes answers to another one, in frames as in ../protocol.ts, and does nothing in between.
 */
import { readSync, writeSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { readImage } from "./image.mjs";
import { startInterpreter } from "./instance.mjs";

/** Descriptors of the pipes and of the image, as in ../process.ts. */
const [requests, answers, imageFile] = [3, 4, 5];
const [memoryBytes, showsErrors] = [Number(process.argv[2]), process.argv[3] === "stderr"];
/** Bytes of a traceback: its 4000 characters. */
const longestText = 16_000;

/** What one cell printed: the first bytes of it, and how much there was. */
const printed = { chunks: /** @type {Uint8Array[]} */ ([]), kept: 0, total: 0, limit: 0 };

// Nobody can open Node's inspector in it.
process.on("SIGUSR1", () => {});
// Python's functions are compiled, and checked, when they are first called: most never are.
setFlagsFromString("--wasm-lazy-validation");
// Ten times V8's own: it would optimise half of what Python needs for its first line.
setFlagsFromString("--wasm-tiering-budget=20000000");
const { module, library, snapshot } = readImage(imageFile);
let interpreter = start();
// What every cell needs is compiled before it is asked for. The interpreter that ran it is thrown away.
interpreter.run("print(1)\n[1 + 1]", longestText);
renew();
send({ ready: true });
for (;;) {
  const request = receive();
  send(answer(request));
  if (!request.continues) renew();
}

function start() {
  return startInterpreter(
    module,
    { memoryBytes, library, variables: [], output: keep, errors: showsErrors ? keep : () => {} },
    snapshot,
  );
}

/** @param {Uint8Array} bytes */
function keep(bytes) {
  printed.total += bytes.length;
  const part = bytes.slice(0, printed.limit - printed.kept);
  if (part.length === 0) return;
  printed.chunks.push(part);
  printed.kept += part.length;
}

/**
 * @param {import("../protocol.ts").Request} request
 * @returns {import("../protocol.ts").Answer}
 */
function answer({ id, code, timeoutMs, outputBytes }) {
  const { kind, text } = runCell(code, timeoutMs, outputBytes);
  const output = new TextDecoder().decode(Buffer.concat(printed.chunks));
  return { id, kind, text, output, droppedBytes: printed.total - printed.kept };
}

/** Another interpreter instead of this one, of which nothing remains. */
function renew() {
  interpreter = /** @type {never} */ (undefined);
  globalThis.gc?.();
  interpreter = start();
}

/**
 * @param {string} code
 * @param {number} timeoutMs
 * @param {number} outputBytes
 */
function runCell(code, timeoutMs, outputBytes) {
  Object.assign(printed, { chunks: [], kept: 0, total: 0, limit: outputBytes });
  const deadline = performance.now() + timeoutMs;
  interpreter.interruptAt(deadline);
  const said = interpreter.run(code, longestText);
  const late = performance.now() > deadline;
  interpreter.interruptAt(Number.POSITIVE_INFINITY);
  const [kind, text] = [said.slice(0, said.indexOf("\n")), said.slice(said.indexOf("\n") + 1)];
  if (said === "\n") return { kind: /** @type {const} */ (""), text: "" };
  if (kind === "memory") return { kind: /** @type {const} */ ("memory"), text: "" };
  if (kind === "error") return { kind: /** @type {const} */ ("error"), text };
  if (late) return { kind: /** @type {const} */ ("interrupted"), text: "" };
  // What the code raised by itself is no time-out. Something else comes from code that changed the runner's names.
  return { kind: /** @type {const} */ ("error"), text: kind === "interrupted" ? "KeyboardInterrupt" : "Error: no answer" };
}

function receive() {
  const length = filled(4).readUInt32BE(0);
  return JSON.parse(filled(length).toString("utf8"));
}

/** @param {number} size */
function filled(size) {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; ) {
    const count = readSync(requests, bytes, at, size - at, null);
    if (count === 0) process.exit(0); // the parent is gone
    at += count;
  }
  return bytes;
}

/** @param {object} message */
function send(message) {
  const body = Buffer.from(JSON.stringify(message), "utf8");
  const frame = Buffer.alloc(4 + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, 4);
  for (let at = 0; at < frame.length; ) at += writeSync(answers, frame, at, frame.length - at);
}
