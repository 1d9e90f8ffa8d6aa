import { execFileSync } from "node:child_process";
import { afterAll, describe, expect, test } from "vitest";
import type { AssistantMessage, ToolCall } from "../../src/core/messages.ts";
import type { Episode } from "../../src/environments/environment.ts";
import { startEpisode } from "./episode.ts";
import { openEvaluator } from "./evaluator/evaluator.ts";
import { harbourDocuments, harbourTask } from "./fixtures/tasks.fixture.ts";
import { bfclSettingsSchema } from "./settings.ts";

const context = { signal: new AbortController().signal };
const python = process.env.RETROGRADE_BFCL_PYTHON;
const evaluator = openEvaluator(python ?? "");
afterAll(() => evaluator.close());
const start = (settings: Record<string, unknown> = {}) =>
  startEpisode({ task: harbourTask, documents: harbourDocuments, settings: bfclSettingsSchema.parse(settings), evaluator });
const call = (name: string, argumentsText: string): ToolCall => ({ name, arguments: JSON.parse(argumentsText), argumentsText });
const said = (content: string): AssistantMessage => ({ role: "assistant", content });

/** One action with calls, as the rollout makes them. */
async function act(episode: Episode, ...calls: readonly ToolCall[]) {
  const answers = [];
  for (const each of calls) answers.push(await episode.call?.(each, context));
  return { answers, step: await episode.afterTools?.([], said("")) };
}

async function solve(episode: Episode): Promise<void> {
  await episode.reply(said("I cannot sort."));
  await act(episode, call("sort", '{"file_name": "tide.txt"}'));
  await episode.reply(said("Done."));
  await act(episode, call("post_tweet", '{"content": "sorted"}'));
}

describe.skipIf(python === undefined)("an episode (skipped without RETROGRADE_BFCL_PYTHON, the Python of .ci/bfcl)", () => {
  test("held-out functions appear at their turn, and the user's requests follow one another", async () => {
    const episode = await start();
    expect(episode.messages).toEqual([{ role: "user", content: "Sort tide.txt." }]);
    expect(episode.tools.map(({ name }) => name)).toEqual(["cat", "post_tweet"]);
    expect(episode.tools[0].description).toBe("Show a file. Note that the provided function is in Python 3 syntax.");
    expect(episode.tools[0].parameters).toMatchObject({ type: "object", required: ["file_name"] });
    const second = await episode.reply(said("I cannot sort."));
    expect(second).toMatchObject({
      done: false,
      messages: [{ role: "user", content: "I have updated some more functions you can choose from. What about now?" }],
    });
    expect("tools" in second && second.tools?.map(({ name }) => name)).toEqual(["cat", "sort", "post_tweet"]);
    const { answers } = await act(episode, call("sort", '{"file_name": "tide.txt"}'));
    expect(answers).toEqual([{ content: '{"sorted_content": "high\\nlow"}', valid: true }]);
    expect(await episode.reply(said("Done."))).toMatchObject({ messages: [{ content: "Post 'sorted'." }] });
    await act(episode, call("post_tweet", '{"content": "sorted"}'));
    expect(await episode.reply(said("Done."))).toEqual({ done: true });
    expect(await episode.score([])).toEqual({ reward: 1, scores: { success: 1, turns: 1, calls: 1 } });
  });

  test("sparse and dense rewards differ where some turns passed", async () => {
    for (const [reward, expected] of [
      ["sparse", 0],
      ["dense", 0.5],
    ] as const) {
      const episode = await start({ reward });
      await episode.reply(said("no"));
      await act(episode, call("sort", '{"file_name": "tide.txt"}'));
      await episode.reply(said("Done."));
      expect((await episode.score([])).reward, reward).toBe(expected);
    }
  });

  test("a turn may have 20 steps; the one after ends the task", async () => {
    const episode = await start();
    for (let i = 0; i < 20; i++) expect((await act(episode, call("cat", '{"file_name": "tide.txt"}'))).step).toBeUndefined();
    expect((await act(episode, call("cat", '{"file_name": "tide.txt"}'))).step).toEqual({ done: true });
    const short = await start({ stepsPerTurn: 1 });
    await act(short, call("cat", '{"file_name": "tide.txt"}'));
    expect((await act(short, call("cat", '{"file_name": "tide.txt"}'))).step).toEqual({ done: true });
  });

  test("a clone continues on its own", async () => {
    const episode = await start();
    await episode.reply(said("no"));
    const clone = await episode.clone?.();
    if (clone === undefined) throw new Error("an episode can be cloned");
    expect(clone.tools.map(({ name }) => name)).toEqual(["cat", "sort", "post_tweet"]);
    await act(clone, call("sort", '{"file_name": "tide.txt"}'));
    await clone.reply(said("Done."));
    await act(clone, call("post_tweet", '{"content": "sorted"}'));
    expect((await clone.score([])).reward).toBe(1);
    expect((await episode.score([])).reward).toBe(0);
    const other = await start();
    await solve(other);
    expect((await other.score([])).reward).toBe(1);
  });

  test("in the Python format, calls are read from the text and answered as the benchmark does", async () => {
    const episode = await start({ format: "python" });
    expect(episode.tools).toEqual([]);
    expect(episode.messages[0].content).toContain('"name":"cat"');
    expect(episode.messages[0].content).not.toContain('"name":"sort"');
    const appeared = await episode.reply(said("I cannot sort these."));
    expect(JSON.stringify(appeared)).toContain('\\"name\\":\\"sort\\"');
    expect(await episode.reply(said("[sort(file_name='tide.txt')]"))).toEqual({
      done: false,
      messages: [
        {
          role: "user",
          content: `[{'role': 'tool', 'name': "sort(file_name='tide.txt')", 'content': '{"sorted_content": "high\\\\nlow"}'}]`,
        },
      ],
    });
    await episode.reply(said("Done."));
    await episode.reply(said("[post_tweet(content='sorted')]"));
    expect((await episode.score([])).reward).toBe(1);
  });

  test("native calls become text with Python's repr of what the model wrote", async () => {
    const native = (args: string) => evaluator.execute({ op: "native", name: "f", arguments: args });
    expect(await native('{"a": 5.0, "b": 12345678901234567890, "c": null, "d": ["it\'s", true]}')).toBe(
      'f(a=5.0,b=12345678901234567890,c=None,d=["it\'s", True])',
    );
    await expect(native("[1]")).rejects.toThrow("no JSON object");
  });

  test("Python text is decoded as the official decoder does", async () => {
    const decode = (answer: string) => evaluator.execute({ op: "decode", answer });
    expect(await decode("```[f(a=1, b='x'), g.h()]```")).toEqual(["f(a=1, b='x')", "g.h()"]);
    expect(await decode("f(g(x=1), a=h(y=2))")).toEqual(["f(a=h(y=2))"]);
    expect(await decode("[]")).toEqual([]);
    expect(await decode("I have finished.")).toBeNull();
    expect(await decode("[1, 2]")).toBeNull();
  });

  test("a call reaches nothing but its tools and plain values", async () => {
    const episode = await start();
    await episode.reply(said("no"));
    for (const code of [
      "__import__('os').getcwd()",
      "().__class__.__bases__[0].__subclasses__()",
      "open('tide.txt')",
      "(lambda: 1)()",
      "'{0.__class__}'.format(1)",
      "sort.__self__",
      "[eval for eval in [1]]",
      "getattr(1, 'real')",
      "copy.os",
      "multi_turn_miss_func_9000",
      "oracle_multi_turn_miss_func_9000_TwitterAPI_instance",
      "f'{().__class__}'",
      "(x := 1)",
      "execute_multi_turn_func_call([], {}, [], '', '')",
    ]) {
      const [result] = (await evaluator
        .execute({ op: "replay", record: harbourTask.record, turns: [[code]] })
        .then((line) => JSON.parse(String(line)).turns[0].results)) as string[];
      expect(result, code).toMatch(
        /^Error during execution: (.* (is|are) (not allowed in a call|called)|name '.*' is not defined)/,
      );
    }
  });

  test("a call without end takes its session alone, ends its episode and passes nothing", async () => {
    const [episode, other] = [await start(), await start()];
    const endless = call("cat", '{"file_name": "tide.txt"}');
    const heavy = { ...endless, argumentsText: '{"file_name": "tide.txt"}', name: "9**9**9**9 or cat" };
    const { answers, step } = await act(episode, heavy);
    expect(answers).toEqual([{ content: "Error during execution: no answer within 10 s", valid: false }]);
    expect(step).toEqual({ done: true });
    expect((await act(other, endless)).answers).toMatchObject([{ valid: true }]);
    expect(await episode.score([])).toMatchObject({ reward: 0 });
  });

  test("sessions are in their server's process group, so that they end with it whoever is killed", async () => {
    const group = (pid: string) => execFileSync("ps", ["-o", "pgid=", "-p", pid], { encoding: "utf8" }).trim();
    const episode = await start();
    const children = execFileSync("pgrep", ["-P", String(process.pid), "-f", "executor.py"], { encoding: "utf8" })
      .trim()
      .split("\n");
    const forks = children.flatMap((pid) => execFileSync("pgrep", ["-P", pid], { encoding: "utf8" }).trim().split("\n"));
    expect(forks.length).toBeGreaterThan(0);
    expect(new Set(forks.map(group))).toEqual(new Set(children.map(group)));
    await episode.close?.();
  });
});
