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
    }
  return read;
}

// What models read is part of every result. A change of words that reaches it, by a renaming for instance, fails here.
test.each([
  ["office", {}, "be1128132b38"],
  ["office", { prompt: "full", difficulty: "large" }, "7c206b553486"],
  ["calculation", {}, "247210b46dd9"],
  ["calculator", {}, "a63e5f6d6544"],
])("what a model reads in %s %j", async (name, settings, expected) => {
  expect(digest(await readIn(name, settings))).toBe(expected);
});

test("what a model reads of ARPO's protocol and as a judge", () => {
  expect(digest(systemPrompts)).toBe("369811b27b33");
  const { system, user } = questionAbout(groupOf("g", [episode({ says: "Friday." })]).trajectories, "judge", "Be right.");
  expect(digest([system, user])).toBe("6ea728c193d1");
});
