import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { conversationsOf } from "../extensions/agents/demonstrations.ts";
import { recordAgent } from "../extensions/agents/record-agent.ts";
import { type AgentEnd, rewardOf } from "../extensions/agents/train-agent.ts";
import { readMetrics } from "../src/runs/read.ts";
import { readConversations } from "../src/training/supervised/conversations.ts";
import { invoke } from "./command-line.ts";
import "./loopback.ts";
import { agentText, ask, asked, endpoint, folder, key, refused, rewardText, taskLines, tasks } from "./record-agent.fixture.ts";

test("a teacher's conversations are recorded, a second call continues, and the printed next step trains on them", async () => {
  const [agent, reward, tasks, out] = ["agent.ts", "reward.mjs", "tasks.jsonl", "demos.jsonl"].map((name) => join(folder, name));
  writeFileSync(agent, agentText);
  writeFileSync(reward, rewardText);
  writeFileSync(tasks, taskLines(4));
  refused.add("B4");
  const before = process.env.OPENAI_API_KEY;
  process.env.OPENAI_API_KEY = key;
  const record = () =>
    invoke(
      "record",
      agent,
      "--tasks",
      tasks,
      "--reward",
      reward,
      "--model",
      `teacher@${endpoint.baseUrl}`,
      "--out",
      out,
      "--prices",
      "1,10",
    );
  try {
    const first = await record();
    expect(first).toMatchObject({ exitCode: 0, error: "" });
    // B2 is not renewed; the server refused B4.
    expect(first.out).toContain("kept 2 of 3 attempts (66.7 %), by reward >= 1: 4 conversations");
    expect(first.out).toMatch(/error, 1×: .*not today/);
    expect(first.out).toMatch(/12 requests, 1,100 prompt and 110 completion tokens, as the server counted them: 0\.0022 USD/);
    const played = asked.length;
    refused.clear();
    const second = await record();
    expect(second.out).toContain("kept 3 of 4 attempts (75.0 %), by reward >= 1: 6 conversations");
    expect(second.out).toContain("3 attempts had been played already");
    expect(asked.length - played).toBe(4); // those about B4 alone
    expect(asked[0]).toMatchObject({ model: "teacher", temperature: 0.3 });

    const text = readFileSync(out, "utf8");
    expect(text).not.toContain("hush-hush");
    const [desk, short] = readConversations(out);
    expect(desk.messages).toMatchObject([
      { role: "system", content: "You are the desk." },
      { role: "user", content: "Renew B1, please." },
      { role: "assistant", reasoning: "Where is B1?", toolCalls: [{ name: "find", arguments: { book: "B1" } }] },
      { role: "tool", name: "find", content: '{"page":"https://lib.example/b?token=[key]"}' },
      { role: "assistant", toolCalls: [{ name: "renew", arguments: { book: "B1" } }] },
      { role: "tool", name: "renew" },
      { role: "assistant", content: "B1 is renewed." },
    ]);
    expect(desk.tools?.map(({ name, description }) => [name, description])).toEqual([
      ["find", "Finds a book."],
      ["renew", "Renews a book."],
    ]);
    expect(short.messages.map(({ role, content }) => [role, content])).toEqual([
      ["system", "Say it in one line."],
      ["user", "B1 is renewed."],
      ["assistant", "In short: B1."],
    ]);

    const [next = "", then = ""] = ["Next", "Then"].map(
      (word) => new RegExp(`${word}: .*? ((?:sft|train-agent) .*)`).exec(second.out)?.[1],
    );
    expect(next).toMatch(/^sft --data \S+ --model smollm2 --out runs\/demos-sft-\d+$/);
    expect(then).toBe(`train-agent --model ${next.split(" ").at(-1)} --tasks ${tasks} --reward ${reward} -- ${agent}`);
    const run = join(folder, "run");
    const inFolder = (command: string) =>
      command
        .replace("smollm2", "bundled:office")
        .replace(/runs\/demos-sft-\d+/, run)
        .split(" ");
    const shorter = ["--steps", "1", "--no-dashboard", "--set", "engine.threads=1"];
    const taught = await invoke(...inFolder(next), ...shorter);
    expect(taught).toMatchObject({ exitCode: 0, error: "" });
    expect(readMetrics(run)).toMatchObject([{ step: 1, metrics: { demonstrations: expect.any(Number) } }]);
    const less = ["--tasks-per-step", "1", "--group-size", "2", "--set", "evaluation.tasks=0", "--set", "rollout.maxTokens=4"];
    const [command = "", ...words] = inFolder(then);
    const trained = await invoke(command, ...shorter, ...less, "--out", join(folder, "trained"), ...words);
    expect(trained).toMatchObject({ exitCode: 0, error: "" });
  } finally {
    if (before === undefined) delete process.env.OPENAI_API_KEY;
    else process.env.OPENAI_API_KEY = before;
  }
}, 300_000);

test("an error is no score: a wrong key ends the recording at the first request, an agent that asks nothing has none", async () => {
  const given = { tasks, reward: () => 1, concurrency: 1 };
  const teacher = { ...endpoint, apiKey: "sk-mistaken" };
  await expect(recordAgent({ ...given, agent: ask, teacher, out: join(folder, "a.jsonl") })).rejects.toThrow(
    /all 3 attempts.*401/,
  );
  expect(asked.length).toBe(1);
  const silent = recordAgent({ ...given, agent: async () => "B1", teacher: endpoint, out: join(folder, "b.jsonl") });
  await expect(silent).rejects.toThrow("the agent asked the teacher nothing");
});

test("another rule plays nothing again; another teacher, reward or file is refused by name", async () => {
  const out = join(folder, "rule.jsonl");
  const reward = ({ task }: AgentEnd<{ prompt: string }>) => Number(task.prompt.slice(-2, -1)) / 2;
  const given = { agent: ask, tasks, reward, teacher: endpoint, out };
  expect(await recordAgent(given)).toMatchObject({ kept: 2, resumed: 0 });
  expect(await recordAgent({ ...given, keep: "reward > 1" })).toMatchObject({ kept: 1, rows: 1, resumed: 3 });
  expect(asked.length).toBe(3);
  await expect(recordAgent({ ...given, keep: "good" })).rejects.toThrow(/keep is "good"; expected a rule/);
  await expect(recordAgent({ ...given, teacher: { ...endpoint, name: "other" } })).rejects.toThrow(/the teacher is "other at/);
  await expect(recordAgent({ ...given, reward: () => 1 })).rejects.toThrow(/the SHA-256 of the reward is/);
  const foreign = join(folder, "foreign.jsonl");
  writeFileSync(foreign, "mine\n");
  await expect(recordAgent({ ...given, out: foreign })).rejects.toThrow(/it would be overwritten/);
  expect(readFileSync(foreign, "utf8")).toBe("mine\n");
});

test("attempts of an agent or a reward whose code has changed since are refused, what a file imports included", async () => {
  const files = { "agent.mjs": `export { ask as default } from "./asking.mjs";\n`, "asking.mjs": `export const ask = ${ask};\n` };
  const changing = mkdtempSync(join(folder, "changing-"));
  const write = (name: string, text: string) => writeFileSync(join(changing, name), text);
  for (const [name, text] of Object.entries(files)) write(name, text);
  write("reward.mjs", `import { most } from "./most.mjs";\nexport default () => most;\n`);
  write("most.mjs", "export const most = 1;\n");
  // Modules are read once in a process: the reward stays as it was loaded, its files change.
  const reward = await rewardOf(join(changing, "reward.mjs"));
  const given = { agent: join(changing, "agent.mjs"), tasks, reward, teacher: endpoint, out: join(changing, "demos.jsonl") };
  expect(await recordAgent(given)).toMatchObject({ kept: 3, resumed: 0 });
  expect(await recordAgent(given)).toMatchObject({ kept: 3, resumed: 3 });
  write("asking.mjs", files["asking.mjs"].replace("one line", "one line or two"));
  await expect(recordAgent(given)).rejects.toThrow(
    /the SHA-256 of the agent is .*two teachers, models, agents or rewards are not mixed/,
  );
  write("asking.mjs", files["asking.mjs"]);
  write("most.mjs", "export const most = 2;\n");
  await expect(recordAgent(given)).rejects.toThrow(/the SHA-256 of the reward is/);
  expect(asked.length).toBe(3);
});

test("a teacher that failed at every task can be repaired; one that has a score is not mixed with another", async () => {
  const out = join(folder, "repaired.jsonl");
  const given = { agent: ask, tasks, reward: () => 1, out };
  const broken = () => JSON.parse("no order");
  await expect(recordAgent({ ...given, teacher: broken })).rejects.toThrow(
    /the error of a scripted teacher is.*no order|not valid/,
  );
  const working = () => ({ content: "B1" });
  expect(await recordAgent({ ...given, teacher: working })).toMatchObject({ kept: 3, resumed: 0 });
  await expect(recordAgent({ ...given, teacher: () => ({ content: "B2" }) })).rejects.toThrow(/the teacher is/);
});

test("a half line that a kill left is dropped, and its attempt is played again", async () => {
  const out = join(folder, "killed.jsonl");
  const given = { agent: ask, tasks, reward: () => 1, teacher: endpoint, out, concurrency: 1 };
  await recordAgent(given);
  const attempts = join(folder, "killed.attempts.jsonl");
  writeFileSync(attempts, readFileSync(attempts, "utf8").slice(0, -20));
  expect(await recordAgent(given)).toMatchObject({ resumed: 2, kept: 3, usage: { requests: 3 } });
  expect(asked.length).toBe(4);
});

// u → a; u a w → b; u a x → c (a fork); p A q → d, where A is the agent's own; e, which a limit cut off
test("each answer is learned once, where it was said; what the agent or a limit made of it is not", () => {
  const user = (content: string) => ({ role: "user" as const, content });
  const says = (content: string) => ({ role: "assistant" as const, content });
  const exchange = (messages: readonly (ReturnType<typeof user> | ReturnType<typeof says>)[], answer: string, isCut = false) => ({
    ...{ messages, tools: [], answer: says(answer), isCut },
  });
  const rows = conversationsOf([
    exchange([user("u")], "a"),
    exchange([user("u"), says("a"), user("w")], "b"),
    exchange([user("u"), says("a"), user("x")], "c"),
    exchange([user("p"), says("A"), user("q")], "d"),
    exchange([user("y")], "e", true),
  ]);
  const drawn = rows.map(({ messages }) =>
    messages.map(({ content, weight }) => (weight === 0 ? `(${content})` : content)).join(" "),
  );
  expect(drawn).toEqual(["u a w b", "u (a) x c", "p (A) q d", "y (e)"]);
});

// u → a with two tools; u a w → b with one; u a w b x → c without any
test("an answer is learned with the tools that its own request showed, not with those of the whole episode", () => {
  const user = (content: string) => ({ role: "user" as const, content });
  const says = (content: string, reasoning?: string) => ({ role: "assistant" as const, content, reasoning });
  const tool = (name: string) => ({ name, description: "", parameters: { type: "object" as const }, execute: () => "" });
  const [find, renew] = [tool("find"), tool("renew")];
  const [first, second] = [[user("u")], [user("u"), says("a"), user("w")]];
  const rows = conversationsOf([
    { messages: first, tools: [find, renew], answer: says("a", "because"), isCut: false },
    { messages: second, tools: [renew], answer: says("b"), isCut: false },
    { messages: [...second, says("b"), user("x")], tools: [], answer: says("c"), isCut: false },
  ]);
  const drawn = rows.map(({ messages, tools }) => [
    messages.map(({ content, weight }) => (weight === 0 ? `(${content})` : content)).join(" "),
    tools.map((each) => (each.function as { name: string }).name).join(" "),
  ]);
  expect(drawn).toEqual([
    ["u a", "find renew"],
    ["u (a) w b", "renew"],
    ["u (a) w (b) x c", ""],
  ]);
  expect(rows.map(({ messages }) => messages[1]?.reasoning_content)).toEqual(["because", "because", "because"]);
});
