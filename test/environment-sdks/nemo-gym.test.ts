import { join } from "node:path";
import { expect } from "vitest";
import { call, folderOf, opened, script, serve, withPackage } from "./packages.ts";

withPackage("nemo-gym", "nemo-gym 0.4: a published resource server with a session, tools and a verdict", async () => {
  const port = await serve("nemo-gym", (at) => [script("nemo_gym_server.py"), "example_session_state_mgmt", String(at)]);
  const at = await folderOf("nemo-gym", "resources_servers.example_session_state_mgmt");
  const environment = await opened(`nemo-gym:http://127.0.0.1:${port}`, {
    tasks: { train: join(at, "data/example.jsonl") },
  });
  const play = async (count: number) => {
    const episode = await environment.start(await environment.task("train", 0), 0);
    await call(episode, "increment_counter", { count });
    const { content } = (await call(episode, "get_counter_value", {})) ?? { content: "" };
    const { reward } = await episode.score([...episode.messages, { role: "assistant", content }]);
    return [content, reward];
  };
  expect(await play(3)).toEqual(['{"count":6}', 1]);
  expect(await play(4)).toEqual(['{"count":7}', 0]);
});
