import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import type { SampledAction } from "../../../src/engines/engine.ts";
import type { EngineDiagnosis, EngineUse } from "../../../src/engines/registry.ts";
import type { Environment } from "../../../src/environments/environment.ts";
import { addEnvironments } from "../../../src/environments/registry.ts";
import { addDiagnosis } from "../../../src/sdk/diagnoses.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { clock, end, startClock } from "../../../test/clocked-engine.ts";
import { lettersEnvironment, lettersTokenizer, lettersVocabulary } from "../../../test/letters.ts";
import { doctorCommand } from "./doctor.ts";

const tool = { name: "cut", description: "Cuts.", parameters: { type: "object", properties: {} }, execute: () => "" } as const;
const letters = lettersEnvironment();
const worlds: Readonly<Record<string, Environment>> = {
  letters,
  empty: lettersEnvironment(0),
  hanging: { ...letters, start: () => new Promise<never>(() => {}) },
  broken: {
    ...letters,
    start: () => {
      throw new Error("no letters");
    },
  },
  tooled: { ...letters, start: async (task, seed) => ({ ...(await letters.start(task as never, seed)), tools: [tool] }) },
  known: { ...letters, diagnose: async () => [{ name: "scissors", state: "doubtful", text: "blunt", advice: "Grind them." }] },
  failing: { ...letters, diagnose: () => Promise.reject(new Error("no scissors")) },
};
addEnvironments(Object.fromEntries(Object.entries(worlds).map(([name, world]) => [name, () => ({ ...world, name })])));
addDiagnosis(() => ({ name: "sandbox", state: "good", text: "bubblewrap" }));

const folder = mkdtempSync(join(tmpdir(), "retrograde-doctor-"));
afterAll(() => rmSync(folder, { recursive: true }));
const messages =
  "{% for m in messages %}{{ m.role[0] + m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}a{% endif %}";
/** Writes the model's files. @param mark a token of the model's, beside the letters */
const write = (chat_template = messages, mark?: string) => {
  const { added_tokens, ...rest } = lettersTokenizer.tokenizer;
  const marks = mark === undefined ? [] : [{ ...added_tokens[0], id: lettersVocabulary, content: mark }];
  writeFileSync(join(folder, "tokenizer.json"), JSON.stringify({ ...rest, added_tokens: [...added_tokens, ...marks] }));
  writeFileSync(join(folder, "tokenizer_config.json"), JSON.stringify({ ...lettersTokenizer.config, chat_template }));
};
beforeEach(() => {
  write();
  return startClock();
});

const small = ["rollout.tasksPerStep=4", "rollout.groupSize=4", "evaluation.tasks=30", "evaluation.k=2", "steps=10"];
async function doctor(environment: string, flags: object = {}, set: readonly string[] = []) {
  let out = "";
  const settings = [`environment.name=${environment}`, "engine.kind=clocked", ...small, ...set];
  const given = { model: folder, set: settings, ...flags };
  const code = await doctorCommand(given, createScreen({ write: (part: string) => (out += part) }));
  const [runtime, ...lines] = out.trimEnd().split("\n");
  return { code, runtime, lines, out };
}
const line = (mark: string, name: string, text: string) => `${mark} ${name.padEnd(16)} ${text}`;
const sandbox = line("✓", "sandbox", "bubblewrap");
const starts = (name: string) => line("✓", "environment", `"${name}" starts, with 0 tools`);
const hermes = "tools are called in the format hermes (Hermes, Qwen2.5, Qwen3, SmolLM3)";
const template = (name: string) =>
  line("✓", "chat template", `a prompt of "${name}" is 4 tokens; a message ends with <|im_end|>; ${hermes}`);
const sampled = line("✓", "sampling", "the same twice; --play says how fast, and what a run costs");
const noPrompt = "not tried: the environment shows no prompt";
const noModel = "not tried: there is no model to try it with";

test("a machine, an environment and a model that are sound are ready", async () => {
  const { code, runtime, lines } = await doctor("letters");
  expect(runtime).toBe(line("✓", "node", `${process.version} on ${process.platform} ${process.arch}`));
  expect(lines).toEqual([
    ...[sandbox, starts("letters"), line("✓", "model", folder), template("letters"), sampled],
    "Ready. Train with: npx retrograde-rl train",
  ]);
  expect(code).toBe(0);
  expect(clock.disposed).toBe(1);
});

test("it looks at a few tokens of two rows, twice, with seeds of their own, and the memory is asked for its rows", async () => {
  await doctor("letters", { set: ["environment.name=letters", "engine.kind=clocked", "seed=3"] });
  expect(clock.asked.map(({ maxTokens, stopTokens, context }) => [maxTokens, stopTokens, context.length])).toEqual(
    Array.from({ length: 4 }, () => [4, [], 4]),
  );
  const [a, b, again, other] = clock.asked.map(({ seed }) => seed);
  expect([again, other]).toEqual([a, b]);
  expect(a).not.toBe(b);
  expect(clock.purposes).toEqual([{ use: expect.objectContaining({ training: false, concurrency: 32 }), seed: 3 }]);
});

test("with --play it also says how fast rows are sampled, and what the run costs", async () => {
  const { lines, out } = await doctor("letters", { play: true });
  // 32 rows of 32 tokens, in 32 seconds of the clock; 16 episodes of two answers, which is a step.
  expect(lines.slice(-3)).toEqual([
    line("✓", "sampling", "32 tokens/s in 32 rows, the same twice"),
    line(
      "✓",
      "cost",
      // (32 + 3) s x 10 steps, and before and after them 30 tasks x 2 attempts x 2 s.
      "a step takes about 35 s (32 s to sample), an evaluation 2 min 00 s, the run of 10 steps 9 min 50 s; measured on 16 episodes of 4 tokens",
    ),
    "Ready. Train with: npx retrograde-rl train",
  ]);
  expect(out).not.toContain("--play");
  expect(clock.asked.slice(0, 64).every(({ maxTokens }) => maxTokens === 32)).toBe(true);
  expect(clock.asked).toHaveLength(64 + 32);
});

test("an evaluation of half an hour is worth a shorter one", async () => {
  const { lines, code } = await doctor("letters", { play: true }, ["evaluation.tasks=449"]);
  expect(lines.at(-2)).toMatch(/^✓ cost .* an evaluation 29 min 56 s/);
  const long = await doctor("letters", { play: true }, ["evaluation.tasks=450"]);
  expect(long.lines.at(-3)).toMatch(/^! cost .* an evaluation 30 min 00 s/);
  expect(long.lines.at(-2)).toBe(`${" ".repeat(19)}Shorten the evaluation: --set evaluation.tasks=32 --set evaluation.k=1.`);
  expect([code, long.code]).toEqual([0, 0]);
});

test("as JSON it prints what was found alone, with the measured values", async () => {
  const { out } = await doctor("letters", { json: true, play: true });
  const { ready, checks } = JSON.parse(out);
  expect(ready).toBe(true);
  expect(checks.map(({ name }: { name: string }) => name)).toEqual([
    ...["node", "sandbox", "environment", "model", "chat template", "sampling", "cost"],
  ]);
  expect(checks[4].values).toEqual({ promptTokens: 4, endTokens: [end], calls: "hermes" });
  expect(checks[6].values).toEqual({
    ...{ episodes: 16, tokensPerEpisode: 4, samplingPerStep: 32, trainingPerStep: 3, evaluation: 120, whole: 590 },
  });
});

test.each<[string, () => Partial<SampledAction>, string, string]>([
  [
    "log-probs that are not numbers",
    () => ({ logprobs: [-0.5, Number.NaN] }),
    "the model gives log-probs that are not numbers",
    "Its weights are broken: copy the folder from its source again.",
  ],
  [
    "other tokens the second time",
    () => ({ tokens: [clock.asked.length % 4, end] }),
    "the same seeds gave different tokens",
    "Please report this with the output of this command.",
  ],
])("%s are bad", async (_, answer, text, advice) => {
  clock.says = answer;
  const { code, lines } = await doctor("letters");
  expect([code, ...lines.slice(-3)]).toEqual([
    ...[1, line("✗", "sampling", text), `${" ".repeat(19)}${advice}`, "Something is broken: see above."],
  ]);
});

test("nothing is tried with the prompt of an environment that shows none", async () => {
  const bare = [sandbox, line("✓", "model", folder), line("!", "chat template", noPrompt)];
  for (const [name, text] of [
    ["empty", 'the first task of "empty" is "missing"; expected at least one task.'],
    ["hanging", 'the first task of "hanging" is "missing"; expected a start, but there was no answer within 20 ms.'],
    ["broken", "no letters"],
  ] as const) {
    const { code, lines } = await doctor(name, { play: true }, ["rollout.episodeTimeoutMs=20"]);
    expect([code, ...lines]).toEqual([
      ...[1, bare[0], line("✗", "environment", text), ...bare.slice(1)],
      ...[line("!", "sampling", noPrompt), line("!", "cost", noPrompt), "Something is broken: see above."],
    ]);
  }
  expect(clock.asked).toEqual([]);
});

test("nothing is tried without a model", async () => {
  clock.diagnosis = {
    describe: () => Promise.reject(new Error("no weights")),
    memory: async () => ({ state: "good", text: "enough" }),
    speed: async () => ({ state: "good", text: "fast" }),
  };
  const { code, lines } = await doctor("letters", { play: true });
  const none = ["chat template", "memory needed", "speed", "sampling", "cost"].map((name) => line("!", name, noModel));
  expect([code, ...lines]).toEqual([
    ...[1, sandbox, starts("letters"), line("✗", "model", "no weights"), ...none, "Something is broken: see above."],
  ]);
});

test("an engine's own checks come first, and nothing is sampled where a required one fails", async () => {
  const uses: EngineUse[] = [];
  const check = async () => ({ state: "good", text: "wound up", values: { springs: 1 } }) as const;
  const sound: EngineDiagnosis = {
    machine: [
      { name: "spring", check, required: true },
      { name: "glass", check: () => ({ state: "doubtful", text: "scratched" }) },
    ],
    describe: async (of) => ({ state: "good", text: `a clock in ${of}` }),
    memory: async (of, sampling, training) => {
      uses.push(sampling, training);
      return { state: "good", text: `of ${of}` };
    },
    speed: async (of) => ({ state: "good", text: `fast in ${of}` }),
  };
  clock.diagnosis = sound;
  const good = await doctor("letters");
  const whole = (spring: string, speed: string, last: readonly string[]) => [
    ...[sandbox, spring, line("!", "glass", "scratched"), starts("letters"), line("✓", "model", `a clock in ${folder}`)],
    ...[template("letters"), line("✓", "memory needed", `of ${folder}`), speed, ...last],
  ];
  expect(good.lines).toEqual(
    whole(line("✓", "spring", "wound up"), line("✓", "speed", `fast in ${folder}`), [
      ...[sampled, "Ready. Train with: npx retrograde-rl train"],
    ]),
  );
  expect(uses.map(({ training }) => training)).toEqual([false, true]);
  const fail = () => {
    throw new Error("broken");
  };
  clock.diagnosis = { ...sound, machine: [{ name: "spring", check: fail, required: true }, ...sound.machine.slice(1)] };
  const device = "not tried: there is no device";
  const bad = await doctor("letters", { play: true });
  expect(bad.lines).toEqual(
    whole(line("✗", "spring", "broken"), line("!", "speed", device), [
      ...[line("!", "sampling", device), line("!", "cost", noModel), "Something is broken: see above."],
    ]),
  );
  // One that is not required says so, and that is all.
  clock.diagnosis = { ...sound, machine: [{ name: "spring", check: fail }] };
  expect((await doctor("letters")).lines).toContain(sampled);
});

test("the environment finds what it needs by itself", async () => {
  const known = await doctor("known");
  expect(known.lines.slice(0, 4)).toEqual([
    ...[sandbox, line("!", "scissors", "blunt"), `${" ".repeat(19)}Grind them.`, starts("known")],
  ]);
  expect(known.code).toBe(0);
  const failing = await doctor("failing");
  expect([failing.code, failing.lines[1]]).toEqual([1, line("✗", "failing", "no scissors")]);
});

test("tools have to be called in a format that is known, or a likely one is assumed", async () => {
  const found = async (environment: string, shown: string, mark?: string, flags: object = {}) => {
    clock.vocabulary = lettersVocabulary + Number(mark !== undefined);
    write(shown, mark);
    const { code, lines } = await doctor(environment, flags);
    expect(lines[1]).toMatch(environment === "tooled" ? /"tooled" starts, with 1 tool$/ : /with 0 tools$/);
    return [code, ...lines.slice(3)];
  };
  const showing = `{% if tools %}t{% endif %}${messages}`;
  const advice = (text: string) => `${" ".repeat(19)}${text}`;
  const unknown = "its template shows no tool calls in a known format";
  const ready = [sampled, "Ready. Train with: npx retrograde-rl train"];
  expect(await found("tooled", messages)).toEqual([
    ...[0, line("✓", "chat template", `a prompt of "tooled" is 66 tokens; a message ends with <|im_end|>; ${hermes}`)],
    advice(
      'The chat template shows no tools: they are written into the system message, and calls in the format "hermes" (chat.tools, chat.format). A model that never calls so is taught by `retrograde-rl sft` on a few demonstrations.',
    ),
    ...ready,
  ]);
  expect(await found("letters", showing)).toEqual([
    ...[0, line("✓", "chat template", `a prompt of "letters" is 4 tokens; a message ends with <|im_end|>; ${unknown}`), ...ready],
  ]);
  const calls = "{% for c in m.tool_calls or [] %}({{ c.function.name }} {{ c.function.arguments }}){% endfor %}<|im_end|>";
  const strange = showing.replace("<|im_end|>", calls);
  const [code, text, ...rest] = await found("tooled", strange);
  expect(text).toMatch(/^✗ chat template {4}tool calls of the chat template is "a\(find_contact .*calls in an unknown format/);
  expect([code, ...rest]).toEqual([1, sampled, "Something is broken: see above."]);
  expect((await found("letters", strange))[1]).toContain(unknown);
  expect(await found("tooled", showing, "<|tool_call_start|>")).toEqual([
    ...[0, line("!", "chat template", "the template shows tools, and not how they are called")],
    advice(
      "Name the format that the model was taught, by its tokens probably lfm2: --set chat.format=lfm2. What follows assumes it.",
    ),
    ...ready,
  ]);
  // What follows assumes it, episodes included.
  const played = await found("tooled", showing, "<|tool_call_start|>", { play: true });
  expect(played.at(-2)).toMatch(/^✓ cost .*measured on 16 episodes of 4 tokens$/);
});
