import "../../../test/loopback.ts";
import "../../install.ts";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { evalCommand } from "../../../src/cli/commands/eval.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { scoreCommand } from "./benchmarks.ts";

// No walls are tried, as no Python starts.
vi.mock(import("../../../extensions/tools/python/walls.ts"), async (original) => ({
  ...(await original()),
  walls: () => [],
  isWalled: () => true,
}));

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
  const code = await evalCommand(flags, screen, screen);
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
});

/** Scores an evaluation that has ended. */
async function score(out: string, flags: object = {}) {
  const text = { out: "", notes: "" };
  const screen = (name: keyof typeof text) => createScreen({ write: (part: string) => (text[name] += part) });
  const asked = { data: scratch, anyVersion: true, ...flags };
  await scoreCommand("hotpotqa", join(scratch, out), asked, screen("out"), screen("notes"));
  const verdicts = text.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return { verdicts, notes: text.notes };
}

test("an evaluation's answers are scored, and by a judge what rules do not settle", async () => {
  const player = await model();
  const { record } = await evaluate(player.baseUrl, "judged");
  const { verdicts } = await score("judged");
  expect(verdicts.reduce((sum, { f1 }) => sum + f1, 0) / 8).toBeCloseTo(
    record.metrics.find(({ name }: { name: string }) => name === "f1").mean,
    9,
  );

  let fails = true;
  const judge = await endpoint((prompt) =>
    prompt.includes("city of Rome") ? "Correct" : prompt.includes("Hm") && fails ? 401 : "Incorrect",
  );
  const flags = { judgeEndpoint: judge.baseUrl, judgeModel: "wise", judgeConcurrency: "1" };
  await expect(score("judged", flags)).rejects.toThrow(/401 no/);
  const before = judge.asked.length;
  fails = false;
  const { verdicts: judged, notes } = await score("judged", flags);
  expect(judged.map(({ llm_equal }) => llm_equal)).toEqual([1, 1, 1, 1, 0, 0, 0, 0]);
  // Both runs of a question gave one answer; what was decided before the refusal is kept.
  expect(judge.asked).toHaveLength(before + 1);
  expect(notes).toMatch(/llm_equal \(score\) +50\.0 %/);
});
