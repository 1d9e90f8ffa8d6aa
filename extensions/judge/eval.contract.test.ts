import "../../research/install.ts";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { evalCommand } from "../../src/cli/commands/eval.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { judgeOptions } from "./flags.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server of the chat-completions protocol that answers the last message. A number is a status. */
async function endpoint(answer: (text: string) => string | number) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const text: string = JSON.parse(body).messages.at(-1).content;
    asked.push(text);
    const content = answer(text);
    if (typeof content === "number") return void response.writeHead(content).end("no");
    const usage = { prompt_tokens: 100, completion_tokens: 7 };
    response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content }, finish_reason: "stop" }], usage }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { asked, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

const scratch = mkdtempSync(join(tmpdir(), "retrograde-judged-"));
const gold = { France: "Paris", Italy: "Rome", Spain: "Madrid", Peru: "Lima" };
const said: Readonly<Record<string, string>> = { France: "Paris", Italy: "The city of Rome", Spain: "Lisbon", Peru: "Hm" };
const file = join(scratch, "hotpotqa.jsonl");
writeFileSync(
  file,
  Object.entries(gold)
    .map(([country, answer]) => JSON.stringify({ question: `Capital of ${country}?`, answer: [answer] }))
    .join("\n"),
);
const recorded = join(scratch, "searches.json");
writeFileSync(recorded, "{}");

const model = () =>
  endpoint((text) => {
    const country = Object.keys(gold).find((each) => text.includes(each)) ?? "";
    return `<think>t</think><answer>\\boxed{${said[country]}}</answer>`;
  });

async function evaluate(baseUrl: string, out: string, more: object = {}) {
  let text = "";
  const screen = createScreen({ write: (part: string) => (text += part) });
  const settings = [`data="${file}"`, `recorded="${recorded}"`, "anyVersion=true"].map((each) => `environment.settings.${each}`);
  const flags = {
    ...{ env: "hotpotqa", endpoint: baseUrl, model: "m", k: "2", tasks: "4", temperature: "0.6", out: join(scratch, out) },
    ...{ set: ["evaluation.player.retries=0", "evaluation.greedy=false", ...settings], ...more },
  };
  const code = await evalCommand(flags, screen, screen, judgeOptions.read(flags, process.env));
  const report = JSON.parse(readFileSync(join(scratch, out, "report.json"), "utf8"));
  return { code, text, report, record: report.evaluations[0], page: readFileSync(join(scratch, out, "report.txt"), "utf8") };
}

test("a benchmark is evaluated by its own metrics, several runs a question", async () => {
  const { baseUrl } = await model();
  const { record, text, page } = await evaluate(baseUrl, "plain");
  expect(record).toMatchObject({ tasks: 4, k: 2, mean: 0.25, measure: "success" });
  expect(record.passAt.map(({ k, mean }: { k: number; mean: number }) => [k, mean])).toEqual([
    [1, 0.25],
    [2, 0.25],
  ]);
  const metrics = Object.fromEntries(record.metrics.map(({ name, mean }: { name: string; mean: number }) => [name, mean]));
  expect(metrics).toMatchObject({ em: 0.25, mathEqual: 0.25, acc: 0.5, searches: 0, calculations: 0 });
  // "city of Rome" and "Rome": 2·(1/3)·1/(4/3).
  expect(metrics.f1).toBeCloseTo((1 + 0.5) / 4, 9);
  expect(text).toMatch(/mathEqual +25\.0 %/);
  expect(page).toMatch(/^ +f1 /m);
  expect(record.judged).toBeUndefined();
});

test("a judge decides what rules do not settle; nonsense is named and asked again on --resume", async () => {
  const player = await model();
  let nonsense = true;
  const judge = await endpoint((prompt) =>
    prompt.includes("city of Rome") ? "Correct" : prompt.includes("Hm") && nonsense ? "What a lovely day" : "Incorrect",
  );
  const flags = { judgeEndpoint: judge.baseUrl, judgeModel: "wise" };
  const first = await evaluate(player.baseUrl, "judged", flags);
  for (const shown of [first.text, first.page])
    expect(shown).toContain("Judge: 5 requests, 500 prompt and 35 completion tokens.");
  expect(first.record.judged).toMatchObject({ model: "wise", byRules: 2, empty: 0, correct: 2, incorrect: 2 });
  expect(first.record.judged.mean).toBeCloseTo(4 / 6, 12); // no verdict is no 0
  expect(first.record.judged.unjudged).toHaveLength(2);
  // Both runs of a question gave one answer: it is asked about once, nonsense three times.
  expect(judge.asked).toHaveLength(1 + 1 + 3);
  expect(first.record.judged.usage).toEqual({ calls: 5, promptTokens: 500, completionTokens: 35 });
  expect(first.text).toMatch(/2 answers without a verdict, not counted: with them the share is between 50\.0 % and 75\.0 %/);
  expect(first.page).toContain("without a verdict");
  const [asked, played] = [judge.asked.length, player.asked.length];
  nonsense = false;
  const second = await evaluate(player.baseUrl, "judged", { ...flags, resume: true });
  expect(second.record.judged).toMatchObject({ mean: 0.5, correct: 2, incorrect: 4, unjudged: [], usage: { calls: 6 } });
  expect(judge.asked).toHaveLength(asked + 1);
  expect(player.asked).toHaveLength(played);
});

test("a judge that fails ends the evaluation; what is done is kept and continues", async () => {
  const player = await model();
  let fails = true;
  const judge = await endpoint((prompt) => (prompt.includes("Hm") && fails ? 401 : "Incorrect"));
  const flags = { judgeEndpoint: judge.baseUrl, judgeModel: "wise", judgeConcurrency: "1" };
  await expect(evaluate(player.baseUrl, "failed", flags)).rejects.toThrow(/401 no.*--resume --out .*failed/);
  const [asked, played] = [judge.asked.length, player.asked.length];
  fails = false;
  const { record } = await evaluate(player.baseUrl, "failed", { ...flags, resume: true });
  expect(record.judged).toMatchObject({ mean: 0.25, incorrect: 6 });
  expect(judge.asked).toHaveLength(asked + 1);
  expect(player.asked).toHaveLength(played);
});

test("flags of a judge that do not fit are refused before anything is played", async () => {
  const { baseUrl, asked } = await model();
  const judge = { judgeEndpoint: "http://127.0.0.1:1/v1", judgeModel: "wise" };
  await expect(evaluate(baseUrl, "no", { ...judge, judgeModel: undefined })).rejects.toThrow(/--judge-model is missing/);
  await expect(evaluate(baseUrl, "no", { ...judge, judgeConcurrency: "0" })).rejects.toThrow(/--judge-concurrency is "0"/);
  await expect(evaluate(baseUrl, "no", { ...judge, judgeRequest: "[1]" })).rejects.toThrow(
    /--judge-request is "\[1\]".*\{"temperature": null\}/,
  );
  await expect(evaluate(baseUrl, "no", { ...judge, env: "bfcl", set: [] })).rejects.toThrow(/questions with known answers|BFCL/);
  expect(asked).toHaveLength(0);
});
