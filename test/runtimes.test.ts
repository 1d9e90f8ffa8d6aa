import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { findPython } from "../bench/python.ts";
import { evaluate, train } from "../entries/index.ts";
import { browserProgram } from "../scripts/browser.mjs";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { launchBrowser } from "./browser.ts";
import { invoke } from "./command-line.ts";

// A model that was trained here, exported, answers in other people's runtimes what it answers here:
// RETROGRADE_RUNTIMES="$(./.ci/runtimes)" RETROGRADE_PYTHON="$(./.ci/transformers)" npx vitest run test/runtimes.test.ts
const packages = process.env.RETROGRADE_RUNTIMES ?? "";
const without = packages === "" ? " (skipped: set RETROGRADE_RUNTIMES, as .ci/runtimes prints it)" : "";
const python = await findPython();
const noPython = python === undefined ? " (skipped: set RETROGRADE_PYTHON, as .ci/transformers prints it)" : "";
const noBrowser = without || (browserProgram() === undefined ? " (skipped: no Chromium or Chrome)" : "");

const folder = mkdtempSync(join(tmpdir(), "runtimes-"));
afterAll(() => rmSync(folder, { recursive: true }));
const pathTo = (name: string) => join(folder, name);
const script = (name: string) => join(import.meta.dirname, "runtimes", name);

const llama3 = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
const answersSchema = z.object({ openings: z.array(z.array(z.int())), texts: z.array(z.string()) });
/** What each runtime is asked, and what it has to say. */
let questions: string;
let expected: z.infer<typeof answersSchema>;

beforeAll(async () => {
  // llama.cpp has a name for Llama 3's way to cut texts, and none for that of the model that comes with the package.
  cpSync(join(import.meta.dirname, "../models/office"), pathTo("start"), { recursive: true });
  const tokenizerFile = join(pathTo("start"), "tokenizer.json");
  const cut = { type: "Split", pattern: { Regex: llama3 }, behavior: "Isolated", invert: false };
  const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: false };
  const pre_tokenizer = { type: "Sequence", pretokenizers: [cut, bytes] };
  writeFileSync(tokenizerFile, JSON.stringify({ ...JSON.parse(readFileSync(tokenizerFile, "utf8")), pre_tokenizer }));
  const user = { environment: "office", model: pathTo("start"), engine: { threads: 1 }, evaluation: { tasks: 0 } } as const;
  const rollout = { tasksPerStep: 2, groupSize: 4 };
  const algorithm = { kind: "grpo" } as const;
  const run = await train({ ...user, rollout, algorithm, optimizer: { learningRate: 1e-3 }, steps: 2, out: pathTo("run") });
  const evaluation = { tasks: 6, k: 1, temperature: 0 };
  const { trajectories } = await evaluate({ ...user, model: run.folder, evaluation, out: pathTo("evaluation") });
  const tokenizer = loadTokenizer(join(run.folder, "model"));
  const turns = trajectories.flatMap(({ turns }) => turns);
  const openings = trajectories.map(({ messages, turns: [{ context }] }) => ({
    messages: messages.slice(
      0,
      messages.findIndex(({ role }) => role === "assistant"),
    ),
    text: tokenizer.decode([...context]),
  }));
  questions = JSON.stringify({ openings, prompts: turns.map(({ context }) => [...context]), maxTokens: 64 });
  const texts = turns.map(({ action }) => tokenizer.decode(action));
  expected = { openings: trajectories.map(({ turns: [{ context }] }) => [...context]), texts };
  for (const [to, out, ...type] of [
    ["gguf", "model.gguf", "--type", "F32"],
    ["hf", "hf", "--type", "float32"],
    ["onnx", "onnx"],
  ])
    expect(await invoke("export", run.folder, "--to", to, "--out", pathTo(out), ...type)).toMatchObject({
      exitCode: 0,
      error: "",
    });
}, 300_000);

function ask(command: string, ...args: readonly string[]) {
  const options = { input: questions, maxBuffer: 2 ** 26, timeout: 500_000 };
  return answersSchema.parse(JSON.parse(execFileSync(command, args, options).toString().trim().split("\n").at(-1) ?? ""));
}

const limit = { timeout: 540_000 };
test.skipIf(without !== "")(`node-llama-cpp answers from the GGUF file with equal ids and greedy text${without}`, limit, () => {
  expect(ask(process.execPath, script("llama.mjs"), packages, pathTo("model.gguf"))).toEqual(expected);
});

test.skipIf(without !== "")(
  `transformers.js answers in Node from the ONNX folder with equal ids and greedy text${without}`,
  limit,
  () => {
    expect(ask(process.execPath, script("transformers.mjs"), packages, pathTo("onnx"))).toEqual(expected);
  },
);

test.skipIf(noPython !== "")(
  `transformers answers from the Hugging Face folder with equal ids and greedy text${noPython}`,
  limit,
  () => {
    expect(ask(python ?? "", script("transformers.py"), pathTo("hf"))).toEqual(expected);
  },
);

test.skipIf(noBrowser !== "")(
  `transformers.js answers in Chromium with equal ids and greedy text${noBrowser}`,
  limit,
  async () => {
    const types: Readonly<Record<string, string>> = { mjs: "text/javascript", js: "text/javascript", wasm: "application/wasm" };
    const roots: Readonly<Record<string, string>> = {
      packages: join(packages, "node_modules"),
      models: folder,
      runtimes: script(""),
    };
    const server = createServer(({ url = "/" }, response) => {
      const [, root, ...path] = url.split("/");
      try {
        const type = types[url.split(".").at(-1) ?? ""] ?? "application/octet-stream";
        if (url === "/") response.setHeader("content-type", "text/html").end("<title>page</title>");
        else response.setHeader("content-type", type).end(readFileSync(join(roots[root], ...path)));
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      const answers = await page.evaluate(`(async () => {
      const library = await import("/packages/@huggingface/transformers/dist/transformers.min.js");
      const { answer } = await import("/runtimes/answer.mjs");
      Object.assign(library.env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: "/models/", useBrowserCache: false });
      library.env.backends.onnx.wasm.wasmPaths = "/packages/onnxruntime-web/dist/";
      return answer(library, "onnx", ${questions});
    })()`);
      expect(answers).toEqual(expected);
    } finally {
      await browser.close();
      server.close();
    }
  },
);
