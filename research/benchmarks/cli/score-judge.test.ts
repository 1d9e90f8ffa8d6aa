import "../../../test/loopback.ts";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { scoreCommand } from "./benchmarks.ts";

let server: Server | undefined;
afterEach(() => void server?.close());

/** A judge that answers by the prediction. */
async function judge(replies: Readonly<Record<string, string | number>>) {
  const asked: string[] = [];
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const prompt: string = JSON.parse(body).messages[0].content;
    const prediction = /Prediction: (.*)/.exec(prompt)?.[1] ?? "";
    asked.push(prediction);
    const reply = replies[prediction] ?? "Incorrect";
    if (typeof reply === "number") return void response.writeHead(reply).end("no");
    response.end(JSON.stringify({ choices: [{ message: { content: reply } }] }));
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return { asked, url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/v1` };
}

const file = join(mkdtempSync(join(tmpdir(), "retrograde-judge-")), "predictions.jsonl");
const lines = [
  { question: "Capital of France?", gold: "Paris", prediction: "Paris" },
  { question: "Capital of Italy?", gold: "Rome", prediction: "The city of Rome" },
  { question: "Capital of Spain?", gold: "Madrid", prediction: "Lisbon" },
  { question: "Capital of Peru?", gold: "Lima", prediction: "Hm" },
  { question: "Capital of Chad?", gold: "N'Djamena", prediction: "" },
];
writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));

async function score(flags: object) {
  const text = { out: "", notes: "" };
  const screen = (name: keyof typeof text) => createScreen({ write: (part: string) => (text[name] += part) });
  await scoreCommand("hotpotqa", file, flags, screen("out"), screen("notes"));
  return {
    verdicts: text.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
    notes: text.notes,
  };
}

test("the judge decides what mathematics does not settle, and nonsense is counted instead of scored as wrong in silence", async () => {
  const { asked, url } = await judge({ "The city of Rome": "Correct", Hm: "What a lovely day" });
  const { verdicts, notes } = await score({ judgeEndpoint: url, judgeModel: "m" });
  expect(verdicts.map(({ judge, llm_equal, score }) => [judge, llm_equal, score])).toEqual([
    ["not asked", 1, 1],
    ["correct", 1, 1],
    ["incorrect", 0, 0],
    ["unusable", 0, 0],
    ["not asked", 0, 0],
  ]);
  expect(asked.filter((prediction) => prediction === "Hm")).toHaveLength(3);
  expect(asked).not.toContain("Paris");
  expect(notes).toMatch(/by a judge/);
  expect(notes).toMatch(/llm_equal \(score\) +40\.0 %/);
  expect(notes).toMatch(/no usable reply about 1 answer/);
});

test("without a judge nothing is asked, and no verdict has its fields", async () => {
  const { verdicts, notes } = await score({});
  expect(verdicts.every((verdict) => !("judge" in verdict) && !("llm_equal" in verdict))).toBe(true);
  expect(notes).toMatch(/no judge/);
});

test("a judge that refuses ends the command with its words", async () => {
  const { url } = await judge({ Lisbon: 401 });
  await expect(score({ judgeEndpoint: url, judgeModel: "m" })).rejects.toThrow(/401 no/);
  await expect(score({ judgeEndpoint: url })).rejects.toThrow(/--judge-model is missing/);
  await expect(score({ judgeModel: "m" })).rejects.toThrow(/--judge-endpoint is missing/);
  await expect(score({ judgeEndpoint: url, judgeModel: "m", judgeKeyEnv: "NO_SUCH_KEY" })).rejects.toThrow(
    /NO_SUCH_KEY is missing/,
  );
});
