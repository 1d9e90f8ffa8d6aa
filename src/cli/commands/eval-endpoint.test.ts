import "../../../test/loopback.ts";
import "../../../test/office.ts";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { planRun } from "../../sdk/train.ts";
import { createScreen } from "../../terminal/screen.ts";
import { evalCommand } from "./eval.ts";
import { compareCommand } from "./eval-compare.ts";

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly temperature: number;
}

let server: Server | undefined;
afterEach(() => {
  server?.close();
  vi.unstubAllEnvs();
});

/** Answers sums, wrongly above 5 and only so many of them. */
async function endpoint(answers = Number.POSITIVE_INFINITY, words = "") {
  const asked: Asked[] = [];
  const keys: (string | undefined)[] = [];
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const question: Asked = JSON.parse(body);
    asked.push(question);
    keys.push(request.headers.authorization);
    if (asked.length > answers) return void response.writeHead(401).end("expired");
    const [a, b] = question.messages[0].content.match(/\d+/g)?.map(Number) ?? [];
    const sum = a + b > 5 ? 0 : a + b;
    const message = { role: "assistant", content: `${words}The sum is ${sum}.` };
    response.end(
      JSON.stringify({ choices: [{ message, finish_reason: "stop" }], usage: { prompt_tokens: 10, completion_tokens: 4 } }),
    );
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { asked, keys, baseUrl: `http://127.0.0.1:${port}/v1` };
}

const scratch = mkdtempSync(join(tmpdir(), "retrograde-eval-"));
const config = join(scratch, "retrograde.config.mjs");
writeFileSync(
  config,
  `export default { environment: {
    name: "sums",
    size: () => 6,
    task: (_, index) => ({ id: "t" + index, kind: index < 3 ? "small" : "large", requestCount: 1, index }),
    start: ({ index }) => ({
      messages: [{ role: "user", content: index + " + 2?" }],
      tools: [],
      reply: () => ({ done: true }),
      score: (conversation) => ({ reward: Number(conversation.at(-1).content.includes(String(index + 2))) }),
    }),
  } };`,
);
const flags = (baseUrl: string, out: string, ...set: string[]) => ({
  config,
  endpoint: baseUrl,
  model: "small-model",
  k: "2",
  out: join(scratch, out),
  set: ["evaluation.player.retries=1", "evaluation.player.retryDelayMs=1", ...set],
});

function screens() {
  const text = { out: "", notes: "" };
  return {
    text,
    output: createScreen({ write: (part: string) => (text.out += part) }),
    notes: createScreen({ write: (part: string) => (text.notes += part) }),
  };
}

test("eval measures a model behind an endpoint: by kind, with tokens and no key in any file", async () => {
  const { asked, keys, baseUrl } = await endpoint();
  vi.stubEnv("SUMS_KEY", "sk-very-secret");
  vi.stubEnv("OPENAI_API_KEY", "sk-other");
  const { text, output, notes } = screens();
  const key = "evaluation.player.apiKeyEnv=SUMS_KEY";
  expect(await evalCommand({ ...flags(baseUrl, "first", key), json: true }, output, notes)).toBe(0);
  const report = JSON.parse(text.out);
  expect(report.asked).toMatchObject({ model: "small-model", endpoint: { baseUrl }, tasks: 6, k: 2 });
  const [sampled, greedy] = report.evaluations;
  expect(sampled).toMatchObject({
    decoding: "sampled",
    mean: 4 / 6,
    usage: { promptTokens: 120, completionTokens: 48, unreported: 0 },
  });
  expect(greedy).toMatchObject({ decoding: "greedy", sampledTokens: 24, stopReasons: { done: 6 } });
  expect(greedy.byKind).toMatchObject([
    { name: "large", success: 1 / 3 },
    { name: "small", success: 1 },
  ]);
  const page = readFileSync(join(scratch, "first/report.txt"), "utf8");
  expect(page).toContain("180 prompt and 72 completion tokens, as the server counted them.");
  expect(keys).toEqual(Array(18).fill("Bearer sk-very-secret"));
  expect(asked.filter(({ temperature }) => temperature === 0)).toHaveLength(6);
  for (const file of ["evaluation.json", "report.json", "greedy.jsonl", "sampled.jsonl"])
    expect(readFileSync(join(scratch, "first", file), "utf8")).not.toContain("sk-");
});

test("calls that the server leaves in the text are said beside the numbers", async () => {
  const { baseUrl } = await endpoint(undefined, '<tool_call>{"name": "add"}</tool_call>');
  const { text, output, notes } = screens();
  await evalCommand(flags(baseUrl, "unread"), output, notes);
  expect(text.out).toMatch(/18 episodes of 18 have tool calls that the server left in the text.*--tool-call-parser/);
  expect(readFileSync(join(scratch, "unread/report.txt"), "utf8")).toContain("left in the text");
});

test("a server that fails half-way ends the evaluation with its words, and --resume asks only for what is missing", async () => {
  const first = await endpoint(7);
  const { output, notes } = screens();
  const interrupted = evalCommand({ ...flags(first.baseUrl, "half", "rollout.concurrency=1") }, output, notes);
  await expect(interrupted).rejects.toThrow(/401 expired.*--resume --out .*half/);
  expect(existsSync(join(scratch, "half/report.json"))).toBe(false);
  const port = Number(new URL(first.baseUrl).port);
  await new Promise((resolve) => server?.close(resolve));
  const second = await endpoint();
  // The same address: another one is another measurement, and is refused.
  const elsewhere = evalCommand({ ...flags(second.baseUrl, "half"), resume: true }, output, notes);
  if (Number(new URL(second.baseUrl).port) !== port) await expect(elsewhere).rejects.toThrow(/endpoint of the evaluation in/);
  await new Promise((resolve) => server?.close(resolve));
  const moved = await endpoint();
  await new Promise((resolve) => server?.close(resolve));
  server?.listen(port, "127.0.0.1");
  await new Promise((resolve) => server?.once("listening", resolve));
  expect(await evalCommand({ ...flags(first.baseUrl, "half"), resume: true }, output, notes)).toBe(0);
  expect(moved.asked).toHaveLength(18 - 7);
});

test("two endpoints' models are compared on the same tasks", async () => {
  const { baseUrl } = await endpoint();
  const { text, output, notes } = screens();
  const { out: _, model: __, ...same } = flags(baseUrl, "unused");
  const user = (await import(config)).default;
  const folder = process.cwd();
  process.chdir(scratch); // its folders are new ones under evaluations/
  expect(await compareCommand(["one", "other"], { ...same, json: true }, user, output, notes)).toBe(0);
  process.chdir(folder);
  expect(JSON.parse(text.out).difference.greedy.success).toMatchObject({ difference: { mean: 0 }, better: 0, worse: 0 });
});

test.each([
  [{ baseUrl: "http://127.0.0.1:1/v1" }, "evaluation.player.model is missing; expected the name of a model at"],
  [{ baseUrl: "https://api.openai.com/v1", model: "m" }, "environment variable OPENAI_API_KEY is missing"],
  [{ baseUrl: "nowhere" }, "an http or https URL"],
] as const)("the player %j is refused before anything starts", async (player, message) => {
  vi.stubEnv("OPENAI_API_KEY", "");
  const { output, notes } = screens();
  const set = Object.entries(player).map(([name, value]) => `evaluation.player.${name}=${value}`);
  await expect(evalCommand({ config, set }, output, notes)).rejects.toThrow(message);
});

test("training with a chat endpoint is refused by name at start", async () => {
  const evaluation = { player: { baseUrl: "http://127.0.0.1:1/v1", model: "m" } };
  const refused = planRun({ evaluation, out: join(scratch, "trained") });
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(planRun({ evaluation })).rejects.toThrow(
    /evaluation.player is "http:\/\/127.0.0.1:1\/v1"; expected none where a model is trained.*`retrograde-rl eval` measures it/,
  );
  expect(existsSync(join(scratch, "trained"))).toBe(false);
});
