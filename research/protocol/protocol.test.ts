import { join } from "node:path";
import { expect, test } from "vitest";
import type { Trajectory } from "../../src/core/trajectory.ts";
import { createScreen } from "../../src/terminal/screen.ts";
import { compareOutcomes } from "../../src/training/evaluation/compare.ts";
import { compareCommand } from "./cli/compare.ts";
import { attemptsFrom, requireTasks, textEnvironment } from "./play.ts";
import { canonical, makeProtocol, type Protocol, readProtocol, smallestSeen } from "./protocol.ts";
import { type Attempt, pairedResults, readResults } from "./results.ts";
import { isRight } from "./scorer.ts";
import "../../test/loopback.ts";
import { attemptsBy, file, folder, header, names, protocol, refused, results } from "./protocol.fixture.ts";

test("canonical JSON is that of Python: keys sorted, no spaces, letters as they are", () => {
  expect(canonical({ b: [1, { z: "ö\n", a: null }], a: 0.5 })).toBe('{"a":0.5,"b":[1,{"a":null,"z":"ö\\n"}]}');
});

test("a protocol is read back as it was made, and what was changed in it is named", () => {
  const text = JSON.stringify(protocol, null, 1);
  expect(readProtocol(file(text))).toEqual(protocol);
  const changes: [from: string, to: string, error: RegExp][] = [
    ["Say Bo.", "Say Boo.", /^task test\/Bo of .* is "[0-9a-f]{64}"; expected "?[0-9a-f]{64}, which it records/],
    ['"case"', '"spaces"', /^the scorer of/],
    ['"maxTokens": 8', '"maxTokens": 9', / is "[0-9a-f]{64}"; expected .*, which it records/],
    ['"greedy": true', '"greedy": 1', /sampling.greedy/],
    ['"source": ""', '"source": "", "extra": 1', /extra/],
    ["{", "[", /JSON/],
  ];
  for (const [from, to, error] of changes) {
    expect(text).toContain(from);
    expect(() => readProtocol(file(text.replace(from, to)))).toThrow(error);
  }
});

test("a task that is there twice is refused", () => {
  const { tasks, ...rest } = protocol;
  const [first, second] = tasks as [Protocol["tasks"][0], Protocol["tasks"][0]];
  const bare = ({ sha256: _, ...task }: Protocol["tasks"][0]) => task;
  const { sha256: _, ...scorer } = protocol.scorer;
  const remade = (list: Protocol["tasks"]) =>
    makeProtocol(
      {
        name: rest.name,
        source: "",
        split: "test",
        sampling: rest.sampling,
        scorer: scorer as { kind: "equal"; ignore: [] },
        tasks: list.map(bare),
      },
      0,
    );
  expect(() => remade([first, second, first])).toThrow(/each task, and each id, once/);
  expect(() => remade([first, { ...second, id: first.id }])).toThrow(/each task, and each id, once/);
});

test("a protocol's fields at their bounds", () => {
  const sampling = { greedy: true, attempts: 2, temperature: 1, topP: 1, maxTokens: 8, maxTurns: 1, seed: 3 };
  const task = { id: "a", messages: [{ role: "user" as const, content: "?" }], answers: ["b"] };
  const made = (change: object, ofSampling: object = {}, ofTask: object = {}) =>
    makeProtocol(
      {
        ...{ name: "n", source: "", split: "test", scorer: { kind: "equal", ignore: [] } },
        ...{ tasks: [{ ...task, ...ofTask }], sampling: { ...sampling, ...ofSampling }, ...change },
      } as Parameters<typeof makeProtocol>[0],
      0.2,
    );
  const taken: readonly (readonly [object, object?, object?])[] = [
    ...([[{ name: "a b_.:-9" }], [{ name: "n".repeat(100) }], [{ source: "anywhere" }]] as const),
    ...([
      [{}, { attempts: 0 }],
      [{}, { attempts: 1000 }],
      [{}, { temperature: 10, topP: 0.01, maxTokens: 1, seed: 0 }],
    ] as const),
    [{}, {}, { messages: ["system", "user", "assistant"].map((role) => ({ role, content: "" })) }],
  ];
  for (const parts of taken) expect(made(...parts).version, JSON.stringify(parts)).toBe(1);
  const refused: readonly (readonly [RegExp, object, object?, object?])[] = [
    ...([
      [/name/, { name: "" }],
      [/name/, { name: " a" }],
      [/name/, { name: "a/b" }],
      [/name/, { name: "n".repeat(101) }],
    ] as const),
    ...([
      [/tasks/, { tasks: [] }],
      [/attempts/, {}, { attempts: -1 }],
      [/attempts/, {}, { attempts: 1001 }],
    ] as const),
    ...([
      [/temperature/, {}, { temperature: 0 }],
      [/temperature/, {}, { temperature: 10.1 }],
      [/topP/, {}, { topP: 0 }],
    ] as const),
    ...([
      [/topP/, {}, { topP: 1.01 }],
      [/maxTokens/, {}, { maxTokens: 0 }],
      [/maxTurns/, {}, { maxTurns: 0 }],
    ] as const),
    ...([
      [/seed/, {}, { seed: -1 }],
      [/id/, {}, {}, { id: "" }],
      [/messages/, {}, {}, { messages: [] }],
    ] as const),
    ...([
      [/role/, {}, {}, { messages: [{ role: "tool", content: "" }] }],
      [/answers/, {}, {}, { answers: [] }],
    ] as const),
    ...([
      [/answers of task a/, {}, {}, { answers: undefined }],
      [/ignore/, { scorer: { kind: "equal", ignore: ["colour"] } }],
    ] as const),
    [
      /answers of task a .*expected none: the environment scores/,
      { scorer: { kind: "environment", name: "e", settings: {}, code: {} } },
    ],
    [/code/, { scorer: { kind: "environment", name: "e", settings: {}, code: { "a.ts": "no hash" } } }],
  ];
  for (const [message, ...parts] of refused) expect(() => made(...parts), JSON.stringify(parts)).toThrow(message);
});

test("an answer is compared without white space around it, and without what is ignored", () => {
  const right = (answer: string, gold: string, ...ignore: ("case" | "spaces")[]) =>
    isRight(answer, ["none", gold], { kind: "equal", ignore, sha256: "" });
  expect([right(" Ana\n", "Ana"), right("ana", "Ana"), right("ana", "Ana", "case"), right("A na", "Ana")]).toEqual([
    ...[true, false, true, false],
  ]);
  expect([right("A\tn a", "Ana", "spaces"), right("a na", "Ana", "spaces"), right("a na", "A N A", "case", "spaces")]).toEqual([
    ...[true, false, true],
  ]);
});

test("the smallest difference falls with tasks, and grows with those that differ either way", () => {
  expect(smallestSeen(400, 0.2)).toBeLessThan(Number(smallestSeen(100, 0.2)));
  expect(smallestSeen(100, 0.4)).toBeGreaterThan(Number(smallestSeen(100, 0.1)));
  expect(smallestSeen(3, 0.2)).toBeNull();
  expect(smallestSeen(256, 0)).toBeCloseTo(6 / 256, 4); // McNemar's exact test first rejects with six discordant tasks: 2 · 2⁻⁶ < 0.05
});

test("results that are no measurement by the protocol are refused by name", () => {
  const all = attemptsBy(2);
  const first = all[0] as Attempt;
  const other = "0".repeat(64);
  expect(refused(results(all))).toBe("accepted");
  expect(refused(results(all.slice(1)))).toMatch(
    /^missing: attempts of FILE is "1 are missing, first greedy attempt 0 at task test\/Ana"/,
  );
  expect(refused(results([...all, first]))).toMatch(/^duplicate: an attempt of FILE is "greedy attempt 0 at task test\/Ana"/);
  expect(refused(results([...all, { ...first, attempt: 1 }]))).toMatch(/^other-sampling: .*"greedy attempt 1/);
  expect(refused(results([{ ...first, task: other }, ...all.slice(1)]))).toMatch(/^other-task: a task of FILE is "0{64}"/);
  expect(refused(results(all, { ...header, scorer: other }))).toMatch(/^other-scorer/);
  expect(refused(results(all, { ...header, protocol: other }))).toMatch(/^other-protocol/);
  const sampling = { ...header.sampling, temperature: 0.7 };
  expect(refused(results(all, { ...header, sampling }))).toMatch(
    /^other-sampling: sampling.temperature of FILE is 0.7; expected "?1, the/,
  );
  expect(refused(results([{ ...first, reward: 0 }, ...all.slice(1)]))).toMatch(
    /^misscored: reward of greedy attempt 0 at task test\/Ana/,
  );
  expect(refused(results([{ ...first, answer: undefined }, ...all.slice(1)]))).toMatch(/^misscored/);
  expect(refused(results([{ ...first, error: "late" }, ...all.slice(1)]))).toMatch(
    /^malformed: line 2 of FILE .*either a reward or an error/s,
  );
  expect(refused(results([...all, { ...first, extra: 1 }]))).toMatch(/^malformed: line 14 of FILE/);
  expect(refused(file("no\n"))).toMatch(/^malformed: line 1 of FILE is "no result"; expected "?JSON/);
  expect(refused(join(folder, "none"))).toMatch(/^malformed/);
});

test("two players are compared task by task, and an error is no score", () => {
  const pair = [readResults(results(attemptsBy(1)), protocol), readResults(results(attemptsBy(3)), protocol)] as const;
  const [greedy, sampled] = pairedResults([pair], protocol).map(({ first, second }) =>
    first.map((each, i) => compareOutcomes(each, second[i] ?? each, 1)),
  );
  expect(greedy?.[0]?.success).toMatchObject({ better: 2, worse: 0, tasks: 4, difference: { mean: 0.5 } });
  expect(sampled?.[0]?.counts).toEqual([
    { attempts: 8, errors: 0 },
    { attempts: 8, errors: 0 },
  ]);
  const broken = attemptsBy(3).map(({ answer, reward, ...rest }, i) =>
    i === 0 ? { ...rest, error: "503" } : { ...rest, answer, reward },
  );
  const late = pairedResults([[pair[0], readResults(results(broken), protocol)]], protocol)[0];
  expect(late?.second[0]?.success).toEqual([undefined, 1, 1, 0]);
});

test("our own episodes become lines whose rewards are the scorer's", async () => {
  const environment = textEnvironment(protocol);
  const episodes = await Promise.all(
    names.map(async (_, i) => {
      const task = await environment.task("test", i);
      const { messages, score } = await environment.start(task, 0);
      const conversation = [...messages, { role: "assistant" as const, content: i < 2 ? (names[i] ?? "") : "none" }];
      const { reward } = await score(conversation);
      return { task: task.id, messages: conversation, reward, scores: {}, stopReason: "done" } as unknown as Trajectory;
    }),
  );
  const lines = attemptsFrom(episodes, "greedy", protocol);
  expect(lines).toEqual(
    attemptsBy(2)
      .filter(({ decoding }) => decoding === "greedy")
      .map((line, i) => ({ ...line, answer: i < 2 ? names[i] : "none" })),
  );
  const broken = { ...(episodes[0] as Trajectory), stopReason: "actor-error", error: "503" } as Trajectory;
  expect(attemptsFrom([broken], "greedy", protocol)[0]).toMatchObject({ error: "actor-error, 503" });
  const [first, second] = episodes as [Trajectory, Trajectory];
  const counted = attemptsFrom([first, second, first, first, second], "sampled", protocol);
  expect(counted.map(({ attempt }) => attempt)).toEqual([0, 0, 1, 2, 1]);
  await requireTasks(environment, { ...protocol, tasks: protocol.tasks.map(({ answers: _, ...task }) => task) });
  const changed = { ...protocol, tasks: [{ ...protocol.tasks[0], id: "test/Ana", messages: [] }] } as unknown as Protocol;
  await expect(requireTasks(environment, changed)).rejects.toMatchObject({
    problem: "changed",
    subject: 'task test/Ana of "names"',
  });
});

test("llama.cpp and transformers, which are not ours, filled protocols: the same model answers nearly the same there", () => {
  const kept = (name: string) => join(import.meta.dirname, "../protocols", name);
  const compared = (name: string, [theirs, ours] = [`${name}-llama`, `${name}-ours`]) => {
    let out = "";
    const screen = createScreen({ write: (text: string) => (out += text) !== "" });
    compareCommand(kept(`${name}.protocol.json`), [kept(`${theirs}.jsonl`), kept(`${ours}.jsonl`)], { json: true }, screen);
    return JSON.parse(out).compared[0].pairs[0].success;
  };
  expect(compared("needle_haystack-64")).toMatchObject({ tasks: 64, better: 0, worse: 0 });
  expect(compared("lookup")).toMatchObject({ tasks: 64, better: 2, worse: 0 });
  const transformers = compared("needle_haystack", ["needle_haystack-11-transformers", "needle_haystack-11-after"]);
  expect(transformers).toMatchObject({ tasks: 256, better: 0, worse: 0 });
});
