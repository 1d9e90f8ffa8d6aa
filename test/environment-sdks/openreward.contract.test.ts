import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { serveEnvironment } from "../../extensions/remote/server/serve-environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { linesOf } from "./lines.ts";
import { call, folderOf, opened, output, script, serve, share, withPackage } from "./packages.ts";
import { played } from "./played.ts";

interface Recipe {
  readonly goal: string;
  readonly misc: {
    readonly gold_trajectory: readonly {
      readonly ingredients: Readonly<Record<string, number>>;
      readonly target: readonly [string, number];
      readonly result_count: number;
    }[];
  };
}

withPackage(
  "openreward",
  "openreward 0.1.167: the golds of the published TextCraft earn its reward, and without a craft they earn 0",
  async () => {
    const data = join(await folderOf("openreward", "platoon_textcraft"), "data");
    // Golds that fail by themselves: the environment refuses a craft of theirs.
    for (const [world, file, unsound] of [
      ["textcraft", "textcraft_val.jsonl", [19, 25]],
      ["synth", "textcraft_synth_val.jsonl", []],
    ] as const) {
      const golds = linesOf<Recipe>(join(data, file));
      const port = await serve("openreward", (at) => [script("openreward_worlds.py"), world, String(at)]);
      // It reads all of its recipes before its first answer, which took a busy machine over a minute.
      const environment = await opened(`ors:http://127.0.0.1:${port}`, { timeoutMs: 180_000 });
      expect(await environment.size("val")).toBe(golds.length);
      const tasks = share(20, golds.length);
      const wrong: number[] = [];
      for (let i = 0; i < tasks; i++) {
        const { goal, misc } = golds[i];
        const play = async (steps: Recipe["misc"]["gold_trajectory"]) => {
          const episode = await environment.start(await environment.task("val", i), 0);
          expect(episode.messages).toEqual([{ role: "user", content: goal }]);
          expect(episode.tools.map((tool) => tool.name).sort()).toEqual(["craft", "get_info", "view_inventory"]);
          const failed: string[] = [];
          for (const { ingredients, target, result_count: count } of steps) {
            const answer = await call(episode, "craft", { ingredients, target: [target[0], count] });
            if (answer?.content.startsWith("Successfully") !== true) failed.push(answer?.content ?? "");
          }
          expect(await episode.reply({ role: "assistant", content: "Crafted." })).toEqual({ done: true });
          const { reward } = await episode.score([]);
          await episode.close?.();
          return { reward, failed };
        };
        const { reward, failed } = await play(misc.gold_trajectory);
        if (reward !== 1) wrong.push(failed.length > 0 ? i : -1);
        if (i % 5 === 0) expect((await play(misc.gold_trajectory.slice(0, -1))).reward).toBe(0);
      }
      expect(wrong).toEqual(unsound.filter((i) => i < tasks));
      played({
        ...{
          wire: "ORS",
          package: "openreward 0.1.167, platoon-textcraft 0.3.0",
          what: `TextCraft${world === "synth" ? "-Synth" : ""}, its golds of \`val\``,
        },
        ...{
          refused: "orsClient",
          episodes: tasks,
          result: `reward 1${unsound.length === 0 ? "" : ` but for ${unsound.length} golds that fail by themselves`}; 0 without the last craft`,
        },
      });
    }
  },
);

withPackage(
  "openreward",
  "research/recipes/textcraft.ts writes the golds as conversations that look before they craft",
  async () => {
    const data = await folderOf("openreward", "platoon_textcraft");
    const port = await serve("openreward", (at) => [script("openreward_worlds.py"), "textcraft", String(at)]);
    const folder = mkdtempSync(join(tmpdir(), "golds-"));
    try {
      const out = join(folder, "golds.jsonl");
      const recipe = join(import.meta.dirname, "../../research/recipes/textcraft.ts");
      const jiti = join(import.meta.dirname, "../../node_modules/.bin/jiti");
      await promisify(execFile)(jiti, [
        recipe,
        `ors:http://127.0.0.1:${port}`,
        join(data, "data/textcraft_train.jsonl"),
        out,
        "3",
      ]);
      const golds = linesOf<{ messages: { role: string; content: string; tool_calls?: { function: { name: string } }[] }[] }>(
        out,
      );
      expect(golds).toHaveLength(3);
      for (const { messages } of golds) {
        const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
        const calls = messages.flatMap((message) => message.tool_calls ?? []).map((call) => call.function.name);
        expect(calls[0]).toBe("view_inventory");
        // Each item that is crafted was looked up, and no craft was refused.
        for (const [i, name] of calls.entries()) {
          const item = /^Successfully crafted \d+ (\w+)\(s\)$/.exec(results[i])?.[1];
          if (name === "craft") expect(results.slice(0, i).join("")).toContain(`{"item": "${item}", "can_craft": true`);
        }
        expect(messages.at(-1)).toEqual({ role: "assistant", content: "Crafted." });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

withPackage("openreward", "openreward 0.1.167: a conversation as the prompt, secrets and a message that is graded", async () => {
  const port = await serve("openreward", (at) => [script("openreward_worlds.py"), "talk", String(at)]);
  process.env.WIRES_MARK = "!";
  const environment = await opened(`ors:http://127.0.0.1:${port}`, { secretVariables: { mark: "WIRES_MARK" } });
  delete process.env.WIRES_MARK;
  expect(environment.splits).toEqual(["train", "val-easy"]);
  const task = await environment.task("val-easy", 2);
  const episode = await environment.start(task, 0);
  expect(episode.messages).toEqual([
    { role: "system", content: "Answer with a word." },
    { role: "user", content: "Look it up." },
    {
      role: "assistant",
      content: "",
      reasoning: "I look.",
      toolCalls: [{ id: "call_7", name: "look", arguments: { deep: true } }],
    },
    { role: "tool", name: "look", callId: "call_7", content: "val-easy-2" },
  ]);
  expect(episode.tools.map(({ name }) => name)).toEqual(["look"]);
  expect(await call(episode, "look", {})).toMatchObject({ content: "val-easy-2!", done: false });
  expect(await episode.reply({ role: "assistant", content: "val-easy-2" })).toEqual({ done: true });
  expect(await episode.score([])).toEqual({ reward: 1 });
  played({
    ...{
      wire: "ORS",
      package: "openreward 0.1.167",
      what: "a world of its package: messages, a terminal tool, secrets",
    },
    ...{ episodes: 1, result: "as written", refused: "orsClient" },
  });
});

withPackage("openreward", "TRL 1.16's OpenRewardSpec lists, resets and steps the served office", async () => {
  const environment = createEnvironment("office", {});
  const server = await serveEnvironment({ environment, as: "ors", port: 0 });
  const said = await output("openreward", [
    ...[script("trl_openreward.py"), server.baseUrl, "find_contact", JSON.stringify({ name: "Ana" })],
  ]);
  await server.close();
  const episode = await environment.start(await environment.task("train", 1), 0);
  expect(said.tasks).toBe(4);
  expect(said.columns).toEqual(expect.arrayContaining(["prompt", "task_index", "split", "index"]));
  for (const { name } of episode.tools) expect(said.tools).toContain(name);
  expect(said.tools).toContain("message_to_user");
  expect(said.opening).toContain(episode.messages[1].content);
  expect(String(said.answer)).toMatch(/^\[/);
  played({
    ...{ wire: "ORS", package: "TRL 1.16.0, openreward 0.1.167", what: "`OpenRewardSpec` plays the office" },
    ...{ episodes: 1, result: "lists, resets and steps", refused: "orsServer" },
  });
});
