import { expect, test } from "vitest";
import { environment as deepResearch } from "../../../research/benchmarks/deep-research.fixture.ts";
import { call, serve, start } from "./environments.fixture.ts";
import { messageTool } from "./hosted.ts";

test("an environment with a protocol in plain text is played by messages", async () => {
  const name = await serve("openenv", { environment: deepResearch });
  const episode = await start(name, {}, "train", 0);
  expect(episode.tools.map((tool) => tool.name)).toEqual([messageTool]);
  const searched = await call(episode, messageTool, { content: "<think>x</think><search>owl peak</search>" });
  expect(searched?.content).toContain("<result>\nPage 1: The Owl Peak is 421 m high.");
  expect(await call(episode, messageTool, { content: "<think>x</think><answer>\\boxed{no}</answer>" })).toMatchObject({
    done: true,
  });
  expect((await episode.score([])).reward).toBe(0);
  await episode.close?.();
});
