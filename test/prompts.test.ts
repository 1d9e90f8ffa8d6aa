import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import "../research/install.ts";
import { questionAbout } from "../extensions/judge/prompt.ts";
import { systemPrompts } from "../research/arpo-protocol/prompt.ts";
import { createEnvironment } from "../src/environments/registry.ts";
import { episode, groupOf } from "../src/rewards/episodes.fixture.ts";
import { parametersAsJsonSchema } from "../src/tools/tool.ts";

const digest = (texts: unknown) => createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 12);

/** All that a model reads in the first tasks of each split: openings, tools, and whole conversations where a script plays them. */
async function readIn(name: string, settings: unknown): Promise<unknown[]> {
  const environment = createEnvironment(name, settings);
  const read: unknown[] = [];
  for (const split of environment.splits ?? ["train", "validation", "test", "challenge"])
    for (let i = 0; i < Math.min(await environment.size(split), 12); i++) {
      const task = await environment.task(split, i);
      const { messages, tools } = await environment.start(task, i);
      read.push(
        messages,
        tools.map((tool) => [tool.name, tool.description, parametersAsJsonSchema(tool)]),
      );
      read.push(environment.expert?.play(task).messages);
      for (const behaviour of environment.expert?.behaviours ?? [])
        read.push(environment.expert?.play(task, { [behaviour]: "never" }).messages);
    }
  return read;
}

// What models read is part of every result. A change of words that reaches it, by a renaming for instance, fails here.
test.each([
  ["office", {}, "fc7bad4303dd"],
  ["office", { prompt: "full", difficulty: "large" }, "4c655bd7b360"],
  ["office", { scenario: "search" }, "667bf381d895"],
  ["office", { scenario: "handover" }, "ab0cfad8d66a"],
  ["office", { scenario: "history" }, "90b6a8bd76ff"],
  ["knowledge", {}, "8fda1e71da6f"],
  ["knowledge", { prompt: "full" }, "6f157e5b70ea"],
  ["calculation", {}, "b08b988b77a9"],
  ["calculator", {}, "9c73c403add8"],
])("what a model reads in %s %j", async (name, settings, expected) => {
  expect(digest(await readIn(name, settings))).toBe(expected);
});

test("what a model reads of ARPO's protocol and as a judge", () => {
  expect(digest(systemPrompts)).toBe("369811b27b33");
  const { system, user } = questionAbout(groupOf("g", [episode({ says: "Friday." })]).trajectories, "judge", "Be right.");
  expect(digest([system, user])).toBe("6ea728c193d1");
});
