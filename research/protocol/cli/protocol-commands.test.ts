import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import "../../../test/loopback.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { attemptsBy, file, folder, protocol, results } from "../protocol.fixture.ts";
import { readProtocol } from "../protocol.ts";
import { readResults } from "../results.ts";
import { compareCommand } from "./compare.ts";
import { makeCommand } from "./make.ts";
import { runCommand } from "./run.ts";

/** A screen, and its lines. */
function lines() {
  let text = "";
  const screen = createScreen({ write: (part: string) => (text += part) !== "" });
  return { screen, said: () => text.split("\n").slice(0, -1) };
}

/** A server of the chat-completions protocol that says in capitals what it is asked to say. */
async function endpoint() {
  const asked: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const body = JSON.parse(text) as { messages: { content: string }[] };
    asked.push({ ...body });
    const content = (/Say (.*)\./.exec(body.messages.at(-1)?.content ?? "")?.[1] ?? "").toUpperCase();
    const message = { role: "assistant", content };
    response.end(JSON.stringify({ choices: [{ message, finish_reason: "stop" }] }));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

const flags = { source: "by hand", ignore: "case,spaces", differing: "0.5" };

test("make writes a protocol of a file of tasks, and says what it can see", async () => {
  const rows = [
    { prompt: "Say Ana.", answer: "Ana" },
    {
      id: "b",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Say Bo." },
      ],
      answer: ["none", "Joe"],
    },
    { prompt: "Say Cem.", answer: "Cem" },
  ];
  const tasks = join(folder, "people.jsonl");
  const { screen, said } = lines();
  const text = rows.map((row) => JSON.stringify(row)).join("\n\n");
  const out = join(folder, "people.json");
  writeFileSync(tasks, text);
  await makeCommand(tasks, { ...flags, out, k: "2", seed: "5" }, screen);
  const made = readProtocol(out);
  expect(said()).toEqual([
    `${out}: 3 tasks, ${made.sha256.slice(0, 12)}`,
    "Smallest difference that would be seen if 50.0 % of the tasks differ: none: too few tasks",
  ]);
  expect(readFileSync(out, "utf8")).toBe(`${JSON.stringify(made, null, 1)}\n`);
  const hash = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(made).toMatchObject({ name: "people", source: "by hand", split: "test" });
  expect(made.scorer).toEqual({ kind: "equal", ignore: ["case", "spaces"], sha256: hash });
  expect(made.sampling).toEqual({ greedy: true, attempts: 2, temperature: 1, topP: 1, maxTokens: 96, maxTurns: 20, seed: 5 });
  expect(made.tasks).toEqual([
    { id: "test/0", messages: [{ role: "user", content: "Say Ana." }], answers: ["Ana"], sha256: hash },
    { id: "b", messages: rows[1]?.messages, answers: ["none", "Joe"], sha256: hash },
    { id: "test/2", messages: [{ role: "user", content: "Say Cem." }], answers: ["Cem"], sha256: hash },
  ]);

  const greedy = { ...flags, out, name: "own name", ignore: "", tasks: "2", temperature: "0", split: "train" };
  await makeCommand(tasks, greedy, screen);
  const first = readProtocol(out);
  expect([first.name, first.split, first.tasks.map(({ id }) => id)]).toEqual(["own name", "train", ["train/0", "b"]]);
  expect(first.scorer).toMatchObject({ ignore: [] });
  expect(first.sampling).toMatchObject({ greedy: true, attempts: 0, temperature: 1 });
  const sampled = async (more: object) => {
    await makeCommand(tasks, { ...flags, out, set: ["evaluation.greedy=false"], ...more }, screen);
    return readProtocol(out).sampling;
  };
  // At temperature 0 the one attempt is the greedy one, asked for or not.
  expect(await sampled({ temperature: "0" })).toMatchObject({ greedy: true, attempts: 0, temperature: 1 });
  expect(await sampled({ temperature: "0.7", k: "3" })).toMatchObject({ greedy: false, attempts: 3, temperature: 0.7 });

  const many = join(folder, "many.jsonl");
  writeFileSync(many, Array.from({ length: 100 }, (_, i) => JSON.stringify({ prompt: `${i}`, answer: "a" })).join("\n"));
  const seen = lines();
  await makeCommand(many, { ...flags, out, differing: "0.2" }, seen.screen);
  const { smallest } = readProtocol(out).power;
  expect(seen.said()[1]).toBe(
    `Smallest difference that would be seen if 20.0 % of the tasks differ: ${(100 * Number(smallest)).toFixed(1)} %`,
  );
});

test.each([
  ['{"prompt": "a", "messages": [], "answer": "b"}', {}, /line 1 of .* is "no task"; expected .*either a prompt or messages/],
  ['{"prompt": "a", "answer": "b"}\n{"prompt": "a"}', {}, /line 2 of .* is "no task"/],
  ['{"prompt": "a", "answer": "b"}', { ignore: "case,colour" }, /--ignore/],
  ['{"prompt": "a", "answer": "b"}', { differing: "2" }, /--differing is 2/],
  ['{"prompt": "a", "answer": "b"}', { set: ["rollout.topK=5"] }, /rollout\.topK is 5; expected 0: not every program/],
])("make refuses %s with %j", async (text, more, message) => {
  await expect(makeCommand(file(text), { ...flags, out: join(folder, "no.json"), ...more }, lines().screen)).rejects.toThrow(
    message,
  );
});

test("make and run a protocol of an environment: tasks are shown as players see them, and are the same when it is played", async () => {
  const out = join(folder, "office.json");
  const { screen } = lines();
  await makeCommand(undefined, { ...flags, out, env: "office", tasks: "1", k: "1" }, screen);
  const made = readProtocol(out);
  expect([made.name, made.tasks.length]).toEqual(["office test", 1]);
  expect(made.scorer).toMatchObject({ kind: "environment", name: "office", settings: {}, code: {} });
  expect(made.tasks[0]?.messages.map(({ role }) => role)).toEqual(["system", "user"]);
  expect(made.tasks[0]?.tools?.map((tool) => Object.keys(tool))[0]).toEqual(["name", "description", "parameters"]);
  const server = await endpoint();
  const played = join(folder, "office.jsonl");
  expect(await runCommand(out, { model: "m", endpoint: server.url, out: played }, screen)).toBe(0);
  expect(readResults(played, made).attempts.map(({ decoding, reward }) => [decoding, typeof reward])).toEqual([
    ["greedy", "number"],
    ["sampled", "number"],
  ]);
});

test("run plays a protocol as it says, writes a result file and can be continued", async () => {
  const { asked, url } = await endpoint();
  const path = file(JSON.stringify(protocol));
  const out = join(folder, "ours.jsonl");
  const { screen, said } = lines();
  expect(await runCommand(path, { model: "names", endpoint: url, out }, screen)).toBe(0);
  expect(said().at(-1)).toBe(`${out}: 12 attempts`);
  const { header, attempts } = readResults(out, protocol);
  expect(header).toEqual({
    ...{ protocol: protocol.sha256, scorer: protocol.scorer.sha256, sampling: protocol.sampling, model: "names" },
    program: expect.stringMatching(/^retrograde-rl \d+\.\d+\.\d+/),
  });
  expect(attempts.map(({ decoding, attempt, answer, reward }) => `${decoding} ${attempt} ${answer} ${reward}`)).toEqual([
    ...["greedy 0 ANA 1", "greedy 0 BO 1", "greedy 0 CEM 1", "greedy 0 DÖRTE 1"],
    ...["sampled 0 ANA 1", "sampled 1 ANA 1", "sampled 0 BO 1", "sampled 1 BO 1"],
    ...["sampled 0 CEM 1", "sampled 1 CEM 1", "sampled 0 DÖRTE 1", "sampled 1 DÖRTE 1"],
  ]);
  expect(asked).toHaveLength(12);
  expect(asked.filter(({ temperature }) => temperature === 0)).toHaveLength(4);
  expect(asked.every((body) => body.max_tokens === 8 && body.model === "names")).toBe(true);
  const rest = lines();
  expect(await runCommand(path, { model: "names", endpoint: url, out, resume: true }, rest.screen)).toBe(0);
  expect(asked).toHaveLength(12);
});

test("compare says for each decoding what changed, task by task, and over several pairs", () => {
  const path = file(JSON.stringify(protocol));
  const [one, three] = [results(attemptsBy(1)), results(attemptsBy(3))];
  const { screen, said } = lines();
  expect(compareCommand(path, [one, three], {}, screen)).toBe(0);
  const block = (decoding: string) => [
    `${decoding}: ${one} → ${three}`,
    "  success +50.0 points  [−42.5, 93.3], p = 0.50, too few tasks to see any difference",
    "  2 tasks better, 0 worse of 4",
  ];
  expect(said()).toEqual([...block("greedy"), ...block("sampled")]);
  const pairs = lines();
  expect(compareCommand(path, [one, three, three, one], {}, pairs.screen)).toBe(0);
  expect(pairs.said().filter((line) => !line.startsWith(" "))).toEqual([
    ...[`greedy: ${one} → ${three}`, `greedy: ${three} → ${one}`],
    "greedy, 2 pairs: 50.0 %  [0.0, 100.0] → 50.0 %  [0.0, 100.0]",
    ...[`sampled: ${one} → ${three}`, `sampled: ${three} → ${one}`],
    "sampled, 2 pairs: 50.0 %  [0.0, 100.0] → 50.0 %  [0.0, 100.0]",
  ]);
  expect(pairs.said().filter((line) => line.includes("over pairs"))).toEqual([
    expect.stringMatching(/^ {2}success [+−]?0\.0 points {2}\[.*\] over pairs and tasks$/),
    expect.stringMatching(/^ {2}success [+−]?0\.0 points {2}\[.*\] over pairs and tasks$/),
  ]);
  expect(() => compareCommand(path, [one], {}, screen)).toThrow(
    "expected two files, or pairs of them: BEFORE AFTER BEFORE AFTER",
  );
});

test("compare as JSON; where most attempts ended in errors there is no verdict, and the exit code says so", () => {
  const path = file(JSON.stringify(protocol));
  const one = results(attemptsBy(1));
  const json = lines();
  expect(compareCommand(path, [one, results(attemptsBy(3))], { json: true }, json.screen)).toBe(0);
  const { protocol: sha, compared } = JSON.parse(json.said().join("\n"));
  expect(sha).toBe(protocol.sha256);
  expect(
    compared.map((each: { decoding: string; pairs: object[] }) => [each.decoding, each.pairs.length, Object.keys(each)]),
  ).toEqual([
    ["greedy", 1, ["decoding", "pairs"]],
    ["sampled", 1, ["decoding", "pairs"]],
  ]);
  const broken = attemptsBy(3).map(({ task, decoding, attempt }) => ({ task, decoding, attempt, error: "503" }));
  const { screen, said } = lines();
  expect(compareCommand(path, [one, results(broken)], {}, screen)).toBe(1);
  expect(said().length).toBeGreaterThan(4);
  expect(said().join("\n")).toMatch(/error/);
});
