import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { main } from "../../../entries/program.ts";
import { tokenizerJson } from "../../../test/fixtures/chats.ts";
import { startHub } from "../../../test/hub-server.ts";
import { slowdown } from "../../../test/slowdown.ts";
import { writeTinyModel } from "../../../test/tiny-model.ts";

const model = mkdtempSync(join(tmpdir(), "retrograde-doctor-"));
await writeTinyModel(model);

beforeEach(() => {
  vi.stubEnv("HF_HOME", mkdtempSync(join(tmpdir(), "retrograde-home-")));
  vi.stubEnv("HF_ENDPOINT", "http://127.0.0.1:9"); // where nothing answers
  return () => vi.unstubAllEnvs();
});

async function doctor(...args: readonly string[]) {
  let text = "";
  const exitCode = await main(["doctor", "--threads", "1", ...args], { write: (more) => (text += more) }, process.stderr);
  return { exitCode, text, line: (name: string) => text.split("\n").find((line) => line.slice(2).startsWith(name)) };
}

const reportSchema = z.object({
  ready: z.boolean(),
  checks: z.array(
    z.object({ name: z.string(), state: z.string(), text: z.string(), values: z.record(z.string(), z.unknown()).optional() }),
  ),
});

test("doctor names provider, threads, peak, memory and what the default model needs, for people and for programs", async () => {
  const { text, exitCode, line } = await doctor();
  expect({ exitCode, text }).toEqual({ exitCode: 0, text: expect.stringContaining("Ready. Train with:") });
  expect(line("matrix products")).toMatch(/ONNX Runtime on the CPU: [\d,]+ GFLOP\/s with 1 threads/);
  expect(line("chat template")).toMatch(/a prompt of "office" is [\d,]+ tokens; a message ends with <\|end\|>/);
  expect(line("memory needed")).toMatch(/about \d.* GiB to sample, \d.* GiB to train at 512 tokens/);
  expect(line("sampling")).toMatch(/^✓ sampling +the same twice; --play/);
  expect(line("cost")).toBeUndefined(); // it looks, and does not play

  const json = await doctor("--json");
  const { ready, checks } = reportSchema.parse(JSON.parse(json.text));
  const valuesOf = (name: string) => checks.find((check) => check.name === name)?.values;
  expect({ ready, exitCode: json.exitCode }).toEqual({ ready: true, exitCode: 0 });
  expect(valuesOf("matrix products")).toMatchObject({ provider: "cpu", threads: 1, gflops: expect.any(Number) });
  expect(valuesOf("model")).toMatchObject({ architecture: "qwen3", parameters: expect.any(Number) });
  const [{ training, sampling }] = z
    .array(z.object({ training: z.array(z.unknown()), sampling: z.array(z.unknown()) }))
    .parse(valuesOf("memory needed")?.estimates);
  expect(training.length).toBeGreaterThan(sampling.length);
});

test("a model from the Hub is downloaded and examined", async () => {
  const hub = await startHub(model);
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  const { text, line } = await doctor("--model", hub.repo);
  expect(text).toContain(`Downloaded ${hub.repo}: `);
  expect(line("model")).toMatch(/^✓ model .*models--tiny--letters.*vocabulary 7 \(tokenizer 7\), up to 256 tokens/);
});

test("without a network a model that is not in the cache is the one thing that is broken", async () => {
  const { exitCode, line, text } = await doctor("--model", "tiny/letters");
  expect(exitCode).toBe(1);
  expect(line("model")).toMatch(/^✗ model .*not available: .*Connect to the network and try again/);
  expect(text.match(/✗/g)).toHaveLength(1);
});

test("a model that is too large is refused with what is there, and not loaded", async () => {
  vi.stubEnv("RETROGRADE_MEMORY", "0.03");
  const { exitCode, line, text } = await doctor("--model", model);
  expect(exitCode).toBe(1);
  expect(line("memory needed")).toMatch(/^! memory needed/);
  expect(text).toMatch(/0.03 GiB are available. Close other programs, or take a model of at most 0.0 M parameters/);
  expect(line("sampling")).toMatch(/^✗ sampling .*memory for sampling .* is "0.03 GiB"; expected about/);
});

test("a model on the Hub that is too large costs no download of its weights", async () => {
  const hub = await startHub(model);
  vi.stubEnv("HF_ENDPOINT", hub.endpoint);
  vi.stubEnv("RETROGRADE_MEMORY", "0.03");
  const { exitCode, line } = await doctor("--model", hub.repo);
  expect(exitCode).toBe(1);
  expect(line("model")).toMatch(/^✗ model .*memory for sampling tiny\/letters is "0.03 GiB"; expected about/);
  expect(hub.fetched()).toEqual(["config.json"]);
});

test("peers that take a connection and never answer are named, each after its limit", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  vi.stubEnv("HF_ENDPOINT", `http://127.0.0.1:${port}`);
  const started = performance.now();
  const asked = ["--set", `environment.name=ors:http://127.0.0.1:${port}`, "--set", "rollout.episodeTimeoutMs=1500"];
  const { exitCode, line, text } = await doctor("--model", "tiny/letters", ...asked);
  expect(performance.now() - started).toBeLessThan(30_000 * slowdown());
  expect(exitCode).toBe(1);
  expect(line("environment")).toMatch(/^✗ environment .*"ors:http:.* no answer within 1500 ms/);
  expect(line("model")).toMatch(/^✗ model .*nothing came for 10 seconds/);
  expect(text.match(/✗/g)).toHaveLength(2);
  silent.close();
});

test("one broken file is said once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-broken-"));
  writeFileSync(join(folder, "config.json"), "{");
  const { exitCode, line, text } = await doctor("--model", folder);
  expect(exitCode).toBe(1);
  expect(line("model")).toMatch(/^✗ model .*config.json is "malformed"; expected JSON/);
  expect(text.match(/✗/g)).toHaveLength(1);
});

const oneTool = `{
  name: "one tool", size: () => 1, task: () => ({ id: "a" }),
  start: () => ({
    messages: [{ role: "user", content: "a" }], reply: () => ({ done: true }), score: () => ({ reward: 0 }),
    tools: [{ name: "a", description: "b", parameters: { type: "object", properties: {} }, execute: () => "" }],
  }),
}`;

test.each([
  // The first lines of SmolLM2's own template, which knows no tools.
  [
    "SmolLM2's, which shows no tools",
    "{% if messages[0].role != 'system' %}You are named SmolLM{% endif %}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}",
    "<tool_call>",
    /^✓ chat template .*called in the format smollm2/,
  ],
  [
    "the first LFM2's, which shows tools and no calls",
    "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}",
    "<|tool_call_start|>",
    /^! chat template .*shows tools, and not how they are called/,
  ],
])("a sound model with a template like %s is ready, and its likely format named", async (_, template, mark, line) => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-format-"));
  const added_tokens = [...tokenizerJson.added_tokens, { ...tokenizerJson.added_tokens[0], id: 306, content: mark }];
  const files = { tokenizer: { ...tokenizerJson, added_tokens }, config: { eos_token: "<|im_end|>", chat_template: template } };
  await writeTinyModel(folder, files, 2048);
  const config = join(folder, "retrograde.config.mjs");
  const settings = "engine: { threads: 1 }, rollout: { maxTokens: 8 }, evaluation: { tasks: 1, k: 1 }";
  writeFileSync(config, `export default { model: ${JSON.stringify(folder)}, ${settings}, environment: ${oneTool} };`);
  const examined = await doctor("--play", "--config", config);
  expect(examined.line("sampling")).toMatch(/tokens\/s in 32 rows/);
  expect(examined.line("cost")).toMatch(/a step takes about .* measured on \d+ episodes/);
  expect(examined.line("chat template")).toMatch(line);
  if (mark !== "<tool_call>") expect(examined.text).toContain("probably lfm2: --set chat.format=lfm2");
  expect({ text: examined.text, exitCode: examined.exitCode }).toEqual({ text: expect.stringContaining("Ready."), exitCode: 0 });
});
