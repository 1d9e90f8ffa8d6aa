import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createScreen } from "../../src/terminal/screen.ts";
import { compareCommand } from "./cli/compare.ts";
import { makeCommand } from "./cli/make.ts";
import { runCommand } from "./cli/run.ts";
import { file, folder, protocol } from "./protocol.fixture.ts";
import { readProtocol } from "./protocol.ts";
import { readResults } from "./results.ts";

/** A server of the chat-completions protocol that says what it is asked to say, in capitals. */
async function withServer(refuses: string, use: (endpoint: string, asked: readonly object[]) => Promise<void>): Promise<void> {
  const asked: object[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const body = JSON.parse(text) as { messages: { content: string }[] };
    asked.push(body);
    const content = /Say (.*)\./.exec(body.messages[0]?.content ?? "")?.[1] ?? "";
    response.statusCode = content === refuses ? 503 : 200;
    response.end(
      JSON.stringify({
        choices: [{ message: { role: "assistant", content: ` ${content.toUpperCase()}` }, finish_reason: "stop" }],
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked);
  } finally {
    server.close();
  }
}
const byPython = (...args: string[]) =>
  promisify(execFile)("python3", [join(import.meta.dirname, "../../examples/play-protocol.py"), ...args]);

test("a program that is not ours fills a result file, and what the server refuses is no score", async () => {
  const [path, out] = [file(JSON.stringify(protocol)), join(folder, "python.jsonl")];
  await withServer("Cem", async (endpoint, asked) => {
    await byPython(path, endpoint, "names", out);
    expect(asked).toHaveLength(12);
    expect(asked).toContainEqual({
      ...{
        model: "names",
        messages: [{ role: "user", content: "Say Bo." }],
        temperature: 1,
        top_p: 1,
        max_tokens: 8,
        seed: 1004,
      },
    });
  });
  const { attempts } = readResults(out, protocol);
  expect(attempts.map(({ reward }) => reward ?? "error")).toEqual([1, 1, "error", 1, 1, 1, 1, 1, "error", "error", 1, 1]);
  expect(readFileSync(out, "utf8")).toContain("503");
});

test("make, run and compare: a file of tasks is played here and by another program, and both are compared", async () => {
  const rows = [
    { prompt: "Say Ana.", answer: "Ana" },
    { id: "b", prompt: "Say Bo.", answer: ["none", "Joe"] },
  ];
  const tasks = file(rows.map((row) => JSON.stringify(row)).join("\n"));
  const [made, ours, theirs] = ["made.json", "ours.jsonl", "theirs.jsonl"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const lines: string[] = [];
  const screen = createScreen({ write: (text) => lines.push(text) });
  await makeCommand(
    tasks,
    { out: made, name: "two", source: "", ignore: "case,spaces", differing: "0.2", k: "2", seed: "5" },
    screen,
  );
  await withServer("", async (endpoint) => {
    const player = { model: "names", endpoint } as const;
    expect(await runCommand(made, { ...player, out: ours }, screen)).toBe(0);
    await byPython(made, endpoint, "names", theirs);
  });
  const { attempts } = readResults(ours, readProtocol(made));
  expect(attempts.map(({ decoding, attempt, answer, reward }) => `${decoding} ${attempt} ${answer} ${reward}`)).toEqual([
    "greedy 0 ANA 1",
    "greedy 0 BO 0",
    "sampled 0 ANA 1",
    "sampled 1 ANA 1",
    "sampled 0 BO 0",
    "sampled 1 BO 0",
  ]);
  lines.length = 0;
  expect(compareCommand(made, [ours, theirs], { json: true }, screen)).toBe(0);
  const { compared } = JSON.parse(lines.join("")) as {
    compared: { decoding: string; pairs: { success: { difference: { mean: number } } }[] }[];
  };
  expect(compared.map(({ decoding, pairs }) => [decoding, pairs[0]?.success.difference.mean])).toEqual([
    ["greedy", 0],
    ["sampled", 0],
  ]);
  expect(compareCommand(made, [ours, theirs, ours, theirs], {}, screen)).toBe(0);
  expect(lines.join("")).toMatch(/greedy, 2 pairs: 50.0 %/);
  expect(() => compareCommand(made, [ours], {}, screen)).toThrow(/pairs of them/);
});
