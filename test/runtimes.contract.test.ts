import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { evaluate, train, type UserConfig } from "../entries/index.ts";
import { findPython } from "../research/bench/python.ts";
import { browserProgram } from "../scripts/browser.mjs";
import { loadTokenizer } from "../src/chat/tokenizer-folder.ts";
import { modelFolder } from "../src/sdk/model.ts";
import { launchBrowser } from "./browser.ts";
import { invoke } from "./command-line.ts";

// A model that was trained here, exported, answers in other people's runtimes what it answers here:
// RETROGRADE_RUNTIMES="$(./.ci/runtimes)" RETROGRADE_PYTHON="$(./.ci/transformers)" RETROGRADE_SMOLLM2="$(./.ci/published smollm2)" \
//   npx vitest run test/runtimes.contract.test.ts
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
type Answers = z.infer<typeof answersSchema>;
/** What each runtime is asked, as JSON, and what it has to say. */
interface Asked {
  readonly questions: string;
  readonly expected: Answers;
}
let office: Asked;

/** Plays six tasks greedily. Their prompts are the questions. */
async function played(user: UserConfig & { readonly model: string }, out: string): Promise<Asked> {
  const evaluation = { tasks: 6, k: 1, temperature: 0 };
  const { trajectories } = await evaluate({ ...user, evaluation, out: pathTo(out) });
  const tokenizer = loadTokenizer(await modelFolder({ model: user.model, environment: { name: "office" } }));
  const turns = trajectories.flatMap(({ turns }) => turns);
  const openings = trajectories.map(({ messages, turns: [{ context }] }) => ({
    messages: messages.slice(
      0,
      messages.findIndex(({ role }) => role === "assistant"),
    ),
    text: tokenizer.decode([...context]),
  }));
  return {
    questions: JSON.stringify({ openings, prompts: turns.map(({ context }) => [...context]), maxTokens: 64 }),
    expected: {
      openings: trajectories.map(({ turns: [{ context }] }) => [...context]),
      texts: turns.map(({ action }) => tokenizer.decode(action)),
    },
  };
}

async function exported(
  model: string,
  ...targets: readonly (readonly [to: string, out: string, type?: string])[]
): Promise<void> {
  for (const [to, out, type] of targets) {
    const typed = type === undefined ? [] : ["--type", type];
    const written = await invoke("export", model, "--to", to, "--out", pathTo(out), ...typed);
    expect(written).toMatchObject({ exitCode: 0, error: "" });
  }
}

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
  office = await played({ ...user, model: run.folder }, "evaluation");
  await exported(run.folder, ["gguf", "model.gguf", "F32"], ["hf", "hf", "float32"], ["onnx", "onnx"]);
});

function ask({ questions }: Asked, command: string, ...args: readonly string[]): Answers {
  const options = { input: questions, maxBuffer: 2 ** 26, timeout: 570_000 };
  return answersSchema.parse(JSON.parse(execFileSync(command, args, options).toString().trim().split("\n").at(-1) ?? ""));
}

test.skipIf(without !== "")(`node-llama-cpp answers from the GGUF file with equal ids and greedy text${without}`, () => {
  expect(ask(office, process.execPath, script("llama.mjs"), packages, pathTo("model.gguf"))).toEqual(office.expected);
});

test.skipIf(without !== "")(
  `transformers.js answers in Node from the ONNX folder with equal ids and greedy text${without}`,
  () => {
    expect(ask(office, process.execPath, script("transformers.mjs"), packages, pathTo("onnx"))).toEqual(office.expected);
  },
);

test.skipIf(noPython !== "")(
  `transformers answers from the Hugging Face folder with equal ids and greedy text${noPython}`,
  () => {
    expect(ask(office, python ?? "", script("transformers.py"), pathTo("hf"))).toEqual(office.expected);
  },
);

test.skipIf(noBrowser !== "")(`transformers.js answers in Chromium with equal ids and greedy text${noBrowser}`, async () => {
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
      return answer(library, "onnx", ${office.questions});
    })()`);
    expect(answers).toEqual(office.expected);
  } finally {
    await browser.close();
    server.close();
  }
});

const smollm2 = process.env.RETROGRADE_SMOLLM2;
const noSmollm2 = smollm2 === undefined ? " (skipped: set RETROGRADE_SMOLLM2, as .ci/published prints it)" : "";

describe.skipIf(smollm2 === undefined)(`SmolLM2-135M-Instruct${noSmollm2}`, () => {
  let base: Asked;
  let adapted: Asked;
  beforeAll(async () => {
    const lora = { rank: 8 };
    const shared = { environment: "calculation", rollout: { maxTokens: 64 } } as const;
    const user = { ...shared, model: smollm2 ?? "", engine: { threads: 1 } } as const;
    base = await played(user, "base-evaluation");
    const algorithm = { kind: "sft", tokensPerStep: 300 } as const;
    const training = { engine: { threads: 1, lora }, optimizer: { learningRate: 1e-3 }, evaluation: { tasks: 0 }, steps: 4 };
    const run = await train({ ...user, ...training, algorithm, out: pathTo("adapter-run") });
    adapted = await played({ ...user, model: run.folder }, "adapted-evaluation");
    await exported(user.model, ["gguf", "base.gguf", "F32"], ["hf", "base", "float32"]);
    await exported(run.folder, ["gguf", "adapted.gguf", "F32"], ["hf", "adapted", "float32"], ["peft", "adapter"]);
  });

  test("the adapter changed what it says", () => {
    expect(adapted.expected.openings).toEqual(base.expected.openings);
    expect(adapted.expected.texts).not.toEqual(base.expected.texts);
  });

  test.skipIf(without !== "")(`llama.cpp says the same, before training and with the adapter merged${without}`, () => {
    for (const [asked, file] of [
      [base, "base.gguf"],
      [adapted, "adapted.gguf"],
    ] as const)
      expect(ask(asked, process.execPath, script("llama.mjs"), packages, pathTo(file))).toEqual(asked.expected);
  });

  test.skipIf(noPython !== "")(`transformers says the same, and PEFT with the adapter apart${noPython}`, () => {
    for (const [asked, ...folders] of [
      [base, "base"],
      [adapted, "adapted"],
      [adapted, "base", "adapter"],
    ] as const)
      expect(ask(asked, python ?? "", script("transformers.py"), ...folders.map(pathTo))).toEqual(asked.expected);
  });
});
