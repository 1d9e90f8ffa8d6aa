import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ConfigError, EnvError } from "../../src/core/errors.ts";
import type { AssistantMessage } from "../../src/core/messages.ts";
import { bfclEnvironment } from "./bfcl.ts";
import { documentsAt, documentsText, parameterSchema, parametersOf, toolOf } from "./documents.ts";
import { startEpisode } from "./episode.ts";
import { type Evaluator, type EvaluatorRequest, RequestError, SessionOver } from "./evaluator/evaluator.ts";
import { checksums, defaultFolder, publicSource, readVerified, revision, verifyBytes } from "./files.ts";
import { harbourDocuments, harbourTask } from "./fixtures/tasks.fixture.ts";
import { parseRecord, readRecords } from "./records.ts";
import { replayRecord } from "./replay.ts";
import { categoryScores, Scorer } from "./score.ts";
import { bfclSettingsSchema } from "./settings.ts";
import { readTask, recordsOf, taskIndex } from "./tasks.ts";
import { unpassable } from "./unpassable.ts";
import { checkTask } from "./verdict.ts";

/** An evaluator that answers by a table from an operation to its answer, and keeps what it was asked. */
function evaluatorOf(answers: Readonly<Record<string, (request: EvaluatorRequest) => unknown>>) {
  const asked: EvaluatorRequest[] = [];
  const ask = async (request: EvaluatorRequest) => {
    asked.push(request);
    const { op } = request;
    if (answers[op] !== undefined) return answers[op](request);
    if (op === "open" || op === "close") return null;
    if (op === "rerun") return (request.turns as string[][]).map((calls) => ({ results: calls, state: {} }));
    if (op === "native") return `${String(request.name)}(${String(request.arguments)})`;
    if (op === "execute") return [`result of ${(request.calls as string[])[0]}`];
    throw new Error(`nothing for ${op}`);
  };
  const evaluator: Evaluator = { execute: ask, judge: ask, close: async () => {} };
  return { evaluator, asked };
}
const passing = { verdict: { valid: true, error_type: null, error_message: null }, passed: 2 };
const failing = (passed: number) => ({
  ...{ verdict: { valid: false, error_type: "multi_turn:state", error_message: "state differs" }, passed },
});

const context = { signal: new AbortController().signal };
const said = (content: string): AssistantMessage => ({ role: "assistant", content });
const play = async (settings: object, answers: Parameters<typeof evaluatorOf>[0] = {}) => {
  const { evaluator, asked } = evaluatorOf(answers);
  const given = bfclSettingsSchema.parse(settings);
  const episode = await startEpisode({ task: harbourTask, documents: harbourDocuments, settings: given, evaluator });
  return { episode, asked };
};

test("held-out functions appear at their turn, and the user's requests follow one another", async () => {
  const { episode, asked } = await play({}, { check: () => passing, right: () => 0.5 });
  expect(asked[0]).toMatchObject({ op: "open", record: harbourTask.record, calls: [] });
  expect(episode.messages).toEqual([{ role: "user", content: "Sort tide.txt." }]);
  expect(episode.tools.map(({ name }) => name)).toEqual(["cat", "post_tweet"]);
  expect(episode.limits).toEqual({ turnsPerRequest: 22 });
  const second = await episode.reply(said("I cannot."));
  expect(second).toMatchObject({
    messages: [{ role: "user", content: "I have updated some more functions you can choose from. What about now?" }],
  });
  expect("tools" in second && second.tools?.map(({ name }) => name)).toEqual(["cat", "sort", "post_tweet"]);
  const call = { name: "sort", arguments: { file_name: "tide.txt" } };
  expect(await episode.call?.(call, context)).toEqual({ content: 'result of sort({"file_name":"tide.txt"})', valid: true });
  expect(await episode.afterTools?.([], said(""))).toBeUndefined();
  expect(await episode.reply(said("Done."))).toEqual({ done: false, messages: [{ role: "user", content: "Post 'sorted'." }] });
  expect(await episode.reply(said("Done."))).toEqual({ done: true });
  expect(await episode.score([])).toEqual({ reward: 1, scores: { success: 1, turns: 1, calls: 0.5 } });
  const made = [[], ['sort({"file_name":"tide.txt"})'], []];
  expect(asked.find(({ op }) => op === "rerun")?.turns).toEqual(made);
  expect(asked.find(({ op }) => op === "right")).toMatchObject({
    ...{ answer: harbourTask.groundTruth, turns: made },
    parameters: { cat: ["file_name"], sort: ["file_name"], post_tweet: ["content"] },
  });
});

test("sparse is all or nothing; dense is the share of turns with an answer that passed first", async () => {
  const rewardOf = async (reward: string, passed: number) => {
    const { episode } = await play({ reward }, { check: () => failing(passed), right: () => 0 });
    for (const _ of harbourTask.userTurns) await episode.reply(said("no"));
    return episode.score([]);
  };
  expect(await rewardOf("sparse", 1)).toEqual({ reward: 0, scores: { success: 0, turns: 0.5, calls: 0 } });
  expect((await rewardOf("dense", 1)).reward).toBe(0.5);
  expect((await rewardOf("dense", 0)).reward).toBe(0);
});

test("a call that is not one, one that fails, and one that does not end", async () => {
  const native = () => {
    throw new RequestError("TypeError: no such function");
  };
  const call = { name: "sort", arguments: {}, argumentsText: "{" };
  const wrong = await play({}, { native });
  const answer = { content: "Error during execution: TypeError: no such function", valid: false };
  expect(await wrong.episode.call?.(call, context)).toEqual(answer);
  const failed = await play({}, { execute: () => ["Error during execution: no file"] });
  expect(await failed.episode.call?.(call, context)).toEqual({ content: "Error during execution: no file", valid: false });
  expect(await failed.episode.afterTools?.([], said(""))).toBeUndefined();
  const endless = () => {
    throw new SessionOver("10 s are over");
  };
  const over = await play({}, { execute: endless, check: () => passing, right: () => 0 });
  expect(await over.episode.call?.(call, context)).toEqual({ content: "Error during execution: 10 s are over", valid: false });
  expect(await over.episode.afterTools?.([], said(""))).toEqual({ done: true });
  expect((await over.episode.score([])).scores?.success).toBe(0); // two turns are missing
});

test("a turn has as many steps as the setting says; the next one ends the task", async () => {
  const { episode } = await play({ stepsPerTurn: 2 });
  const step = async () => {
    await episode.call?.({ name: "cat", arguments: {} }, context);
    return episode.afterTools?.([], said(""));
  };
  expect([await step(), await step(), await step()]).toEqual([undefined, undefined, { done: true }]);
});

test("in Python's format calls are read from the text, and their results shown in a message", async () => {
  const decode = ({ answer }: EvaluatorRequest) =>
    answer === "[cat(file_name='a')]" ? ["cat(file_name='a')"] : answer === "[]" ? [] : null;
  const show = ({ results }: EvaluatorRequest) => `shown ${JSON.stringify(results)}`;
  const { episode } = await play({ format: "python" }, { decode, show });
  expect(episode.tools).toEqual([]);
  const [system] = episode.messages;
  expect(system?.role).toBe("system");
  expect(system?.content).toContain(documentsText(documentsAt(harbourDocuments, harbourTask, 0)));
  expect(await episode.reply(said("[cat(file_name='a')]"))).toEqual({
    done: false,
    messages: [{ role: "user", content: `shown [["cat(file_name='a')","result of cat(file_name='a')"]]` }],
  });
  const appeared = await episode.reply(said("[]"));
  const [sort] = documentsAt(harbourDocuments, harbourTask, 1).filter(({ name }) => name === "sort");
  expect(appeared).toEqual({
    done: false,
    messages: [
      {
        role: "user",
        content: `${documentsText(sort ? [sort] : [])}\nI have updated some more functions you can choose from. What about now?`,
      },
    ],
  });
});

test("a copy makes the calls so far again, in a session of its own that is closed by itself", async () => {
  const { episode, asked } = await play({});
  await episode.call?.({ name: "cat", arguments: {} }, context);
  await episode.afterTools?.([], said(""));
  await episode.call?.({ name: "cat", arguments: { file_name: "b" } }, context);
  const copy = await episode.clone?.();
  const opened = asked.filter(({ op }) => op === "open");
  expect(opened[1]?.calls).toEqual(["cat({})", 'cat({"file_name":"b"})']);
  expect(opened[1]?.session).not.toBe(opened[0]?.session);
  await copy?.close?.();
  expect(asked.at(-1)).toEqual({ op: "close", session: opened[1]?.session });
});

test("documents become tools: types of JSON schema, a word on floats, and what appears later left out", () => {
  const schema = {
    type: "dict",
    properties: {
      price: { type: "float", description: "In dollars." },
      bare: { type: "float" },
      list: { type: "tuple", items: { type: "int" } },
      deep: { type: "dict", properties: { at: { type: "any" } } },
    },
  };
  expect(parameterSchema(schema)).toEqual({
    type: "object",
    properties: {
      price: { type: "number", description: "In dollars. This is a float type value." },
      bare: { type: "number" },
      list: { type: "array", items: { type: "integer" } },
      deep: { type: "object", properties: { at: { type: "string" } } },
    },
  });
  expect(parameterSchema({ description: "no type" })).toEqual({ description: "no type" });
  const names = (turn: number) => documentsAt(harbourDocuments, harbourTask, turn).map(({ name }) => name);
  expect([names(0), names(1), names(2)]).toEqual([
    ["cat", "post_tweet"],
    ["cat", "sort", "post_tweet"],
    ["cat", "sort", "post_tweet"],
  ]);
  const [cat] = documentsAt(harbourDocuments, harbourTask, 0);
  expect(cat && toolOf(cat)).toMatchObject({
    ...{ name: "cat", description: "Show a file. Note that the provided function is in Python 3 syntax.", replayable: true },
    parameters: { type: "object", required: ["file_name"] },
  });
  const price = [{ name: "f", description: "d", parameters: { type: "float" } }];
  expect(JSON.parse(documentsText(price))).toEqual([{ name: "f", description: "d", parameters: { type: "number" } }]);
  expect(parametersOf([{ name: "f", description: "", parameters: {} }])).toEqual({ f: [] });
});

test("a task from its line and its answer's; a turn without a message is that of functions that appear", () => {
  const line = JSON.stringify({
    ...{ id: "multi_turn_miss_func_0", involved_classes: ["MathAPI"] },
    question: [[{ role: "user", content: "Add." }], []],
    missed_function: { "1": ["add"] },
  });
  const answer = parseRecord('{"ground_truth": [["add(1, 2)"], []]}', "answers line 1");
  expect(readTask(parseRecord(line, "tasks line 1"), answer, "miss_func")).toEqual({
    ...{ id: "multi_turn_miss_func_0", kind: "miss_func", category: "miss_func", involvedClasses: ["MathAPI"], record: line },
    ...{ requestCount: 2, userTurns: ["Add.", undefined], missedFunctions: new Map([[1, ["add"]]]) },
    groundTruth: [["add(1, 2)"], []],
  });
  const wrong = parseRecord('{"ground_truth": [[1]]}', "answers line 2");
  expect(() => readTask(parseRecord(line, "tasks"), wrong, "base")).toThrow(
    'answers line 2: ground_truth[0] is "[1]"; expected a list of call texts',
  );
  expect(recordsOf('{"a":1}\n\n{"a":2}', "x").map(({ value }) => value.a)).toEqual([1, 2]);
  expect(() => recordsOf('{"a":1}\n\n{', "x")).toThrow('x line 3 is "{"');
  expect(() => taskIndex("nowhere")("multi_turn_other_1")).toThrow(/task id is "multi_turn_other_1"; expected a task of BFCL/);
});

test("fields of a record are read with errors that name line, field and what was expected", async () => {
  const record = parseRecord('{"t": "text", "n": 5, "l": ["a", 1], "o": {}, "long": ""}', "file line 7");
  expect([record.text("t"), record.optionalText("t"), record.optionalText("none")]).toEqual(["text", "text", undefined]);
  expect(record.object("o")).toEqual({});
  const wrong: readonly (readonly [() => unknown, string])[] = [
    [() => record.text("n"), 'file line 7: n is "5"; expected a text'],
    [() => record.text("none"), "file line 7: none is missing; expected a text"],
    [() => record.object("l"), 'l is "[\\"a\\",1]"; expected an object'],
    [() => record.list("t"), 't is "text"; expected a list'],
    [() => record.texts("l"), 'l[1] is "1"; expected a text'],
    [() => parseRecord("[1]", "line 1"), 'line 1 is "[1]"; expected one JSON object'],
  ];
  for (const [read, message] of wrong) expect(read).toThrow(message);
  expect(String(record.wrong("long", "x".repeat(200), "less").message)).toContain(`"${"x".repeat(120)}…"`);
  const folder = mkdtempSync(join(tmpdir(), "bfcl-records-"));
  const [plain, zipped] = [join(folder, "a.jsonl"), join(folder, "a.jsonl.gz")];
  writeFileSync(plain, '{"a":1}\n\n{"a":2}\n');
  writeFileSync(zipped, gzipSync('{"a":3}\n'));
  const read = async (path: string) => {
    const values: unknown[] = [];
    for await (const { value } of readRecords(path)) values.push(value.a);
    return values;
  };
  expect([await read(plain), await read(zipped)]).toEqual([[1, 2], [3]]);
  await expect(read(join(folder, "none"))).rejects.toBeInstanceOf(ConfigError);
  writeFileSync(plain, '{"a":1}\n\nno\n');
  await expect(read(plain)).rejects.toThrow("a.jsonl line 3 is");
});

test("a verdict: turns that were not decoded count as unanswered, missing ones end it, and calls that do not end are an error", async () => {
  const check = (request: EvaluatorRequest) => (request.turns as unknown[]).length >= 0 && passing;
  const { evaluator, asked } = evaluatorOf({ check });
  const whole = [[], ["I will not", ["sort(file_name='tide.txt')"], [], [""]], [["post_tweet(content='sorted')"]]];
  expect(await checkTask(evaluator, harbourTask, whole)).toEqual(passing);
  expect(asked[0]?.turns).toEqual([[], ["sort(file_name='tide.txt')"], ["post_tweet(content='sorted')"]]);
  expect(asked[1]).toMatchObject({ turns: [{ answered: false }, { answered: true }, { answered: true }] });
  const short = await checkTask(evaluator, harbourTask, whole.slice(0, 2));
  expect(short).toMatchObject({ passed: 2, verdict: { valid: false, error_type: "multi_turn:force_terminated" } });
  expect(short.verdict.error_message).toContain("turns (2) does not match the length of the ground truth turns (3)");
  expect(await checkTask(evaluator, harbourTask, undefined)).toMatchObject({
    ...{ passed: 0, verdict: { valid: false, error_type: "multi_turn:inference_error" } },
  });
  const rerun = () => {
    throw new SessionOver("too long");
  };
  expect(await checkTask(evaluatorOf({ rerun }).evaluator, harbourTask, whole)).toMatchObject({
    verdict: { valid: false, error_message: "The calls did not end: too long." },
  });
});

test("predictions are scored once each, and each category twice: with and without tasks that nobody can pass", async () => {
  const { evaluator } = evaluatorOf({ check: () => passing });
  const scorer = new Scorer(evaluator, (id) => {
    if (id !== harbourTask.id) throw new EnvError("task id", id, { expected: "a known one", hint: "That one?" });
    return harbourTask;
  });
  const line = (fields: object) => parseRecord(JSON.stringify(fields), "line 1");
  const turns = [[], [["sort()"]], ["no"]];
  const scored = await scorer.score(line({ task_id: harbourTask.id, id: "a", kind: "k", model_turns: turns }));
  expect(scored).toEqual({ id: "a", kind: "k", task_id: harbourTask.id, verdict: passing.verdict });
  expect(await scorer.score(line({ id: harbourTask.id, model_turns: turns }))).toMatchObject({ id: harbourTask.id });
  expect((await scorer.score(line({ task_id: harbourTask.id, id: "text", model_turns: "no" }))).verdict.valid).toBe(false);
  const wrong: readonly (readonly [object, string])[] = [
    [{ id: "a", task_id: harbourTask.id, model_turns: turns }, 'line 1: id is "a"; expected an id that no earlier line has'],
    [{ id: "b", task_id: "other", model_turns: [] }, 'line 1: task_id is "other"; expected a known one. That one?'],
    [{ id: "c", task_id: harbourTask.id }, "line 1: model_turns is missing"],
    [{ id: "d", task_id: harbourTask.id, model_turns: [5] }, 'model_turns[0] is "5"; expected a list of steps'],
    [{ id: "e", task_id: harbourTask.id, model_turns: [[5]] }, 'model_turns[0][0] is "5"; expected a list of call texts'],
    [{ id: "f", task_id: harbourTask.id, model_turns: [[[5]]] }, 'model_turns[0][0][0] is "5"; expected a text'],
  ];
  for (const [fields, message] of wrong) await expect(scorer.score(line(fields))).rejects.toThrow(message);
  expect(scorer.scored).toHaveLength(3);
  const record = (task_id: string, valid: boolean) => ({ id: task_id, task_id, verdict: { ...passing.verdict, valid } });
  const all = ["multi_turn_base_4", "multi_turn_base_5", "multi_turn_base_6", "multi_turn_miss_func_1"];
  expect(categoryScores(all.map((id) => record(id, id.endsWith("5"))))).toEqual([
    { category: "base", all: { passed: 1, total: 3 }, passable: { passed: 1, total: 2 } },
    { category: "miss_func", all: { passed: 0, total: 1 }, passable: { passed: 0, total: 1 } },
  ]);
  expect([...unpassable.keys()].toSorted()).toEqual([
    ...["multi_turn_base_18", "multi_turn_base_4", "multi_turn_long_context_4", "multi_turn_miss_func_18"],
    ...["multi_turn_miss_func_4", "multi_turn_miss_param_18", "multi_turn_miss_param_4"],
  ]);
});

test("call sequences are checked before they are replayed, and a state that cannot begin is named", async () => {
  const { evaluator, asked } = evaluatorOf({ replay: () => "{}" });
  const fields = { id: "a", involved_classes: ["MathAPI"], initial_config: {}, turns: [{ calls: ["add(1, 2)"] }, ["add(3, 4)"]] };
  const line = (changes: object = {}) => parseRecord(JSON.stringify({ ...fields, ...changes }), "line 1");
  expect(await replayRecord(evaluator, line())).toBe("{}");
  expect(asked[0]?.turns).toEqual([["add(1, 2)"], ["add(3, 4)"]]);
  const wrong: readonly (readonly [object, string])[] = [
    [{ id: undefined }, "task_id is missing"],
    [{ involved_classes: ["Math"] }, 'involved_classes is "Math"; expected names among GorillaFileSystem'],
    [{ initial_config: { MathAPI: 7 } }, 'initial_config.MathAPI is "7"; expected an object'],
    [{ long_context: "yes" }, 'long_context is "yes"; expected true or false'],
    [{ turns: [7] }, "turns[0].calls"],
    [{ turns: [{ calls: [7] }] }, 'turns[0].calls[0] is "7"; expected a text'],
  ];
  for (const [changes, message] of wrong) await expect(replayRecord(evaluator, line(changes))).rejects.toThrow(message);
  const replay = (text: string) => () => {
    throw new RequestError(text);
  };
  await expect(replayRecord(evaluatorOf({ replay: replay("StateError: no root") }).evaluator, line())).rejects.toThrow(
    /initial_config .*Python's own error is: no root/,
  );
  await expect(replayRecord(evaluatorOf({ replay: replay("other") }).evaluator, line())).rejects.toThrow("other");
});

test("files are read where they are those of the pinned revision alone", () => {
  expect(Object.keys(checksums)).toHaveLength(16);
  expect(new Set(Object.values(checksums)).size).toBe(16);
  for (const digest of Object.values(checksums)) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  const tasks = ["base", "long_context", "miss_func", "miss_param"].map((category) => `BFCL_v4_multi_turn_${category}.json`);
  expect(Object.keys(checksums).filter((name) => !name.startsWith("multi_turn_func_doc/"))).toEqual([
    ...[...tasks, ...tasks.map((name) => `possible_answer/${name}`)],
  ]);
  expect(publicSource).toContain(revision);
  expect(defaultFolder({ XDG_CACHE_HOME: "/c" })).toBe(join("/c", "retrograde", `bfcl-${revision.slice(0, 12)}`));
  const folder = mkdtempSync(join(tmpdir(), "bfcl-files-"));
  const name = "BFCL_v4_multi_turn_base.json";
  expect(() => readVerified(join(folder, "none"), name)).toThrow(/folder with BFCL's data .*expected a folder that is there/);
  expect(() => readVerified(folder, name)).toThrow("expected the 16 files of BFCL's multi-turn tasks");
  writeFileSync(join(folder, name), "{}");
  expect(() => readVerified(folder, name)).toThrow(/SHA-256 of .*expected 1a21a995/);
  expect(() => verifyBytes("here", name, Buffer.from("{}"))).toThrow(EnvError);
});

test("splits are SeeUPO's halves, the four categories, and all of them", async () => {
  const environment = bfclEnvironment({ data: "nowhere" });
  expect(environment.splits).toEqual(["train", "test", "base", "miss_func", "miss_param", "long_context", "all"]);
  const sizes = await Promise.all((environment.splits ?? []).map((split) => environment.size(split)));
  expect(sizes).toEqual([100, 100, 200, 200, 200, 200, 800]);
  expect(await environment.size("other")).toBe(0);
  expect(() => environment.task("other", 0)).toThrow(/task 0 of bfcl split is "other"; expected "train"/);
  expect(environment.replayable).toBe(true);
});

test("the defaults are the benchmark's", () => {
  expect(bfclSettingsSchema.parse({})).toEqual({ format: "native", reward: "sparse", stepsPerTurn: 20 });
  const all = { data: "folder", python: "py", format: "python", reward: "dense", stepsPerTurn: 1 };
  expect(bfclSettingsSchema.parse(all)).toEqual(all);
  for (const wrong of [{ data: "" }, { python: "" }, { format: "" }, { reward: "" }, { stepsPerTurn: 0 }, { steps: 1 }])
    expect(bfclSettingsSchema.safeParse(wrong).success, JSON.stringify(wrong)).toBe(false);
});
