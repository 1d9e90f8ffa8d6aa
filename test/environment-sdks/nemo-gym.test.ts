import { join } from "node:path";
import { expect } from "vitest";
import { type Replayed, replay, serversWithRollouts } from "./nemo-replay.ts";
import { call, folderOf, killServer, opened, script, serve, share, withPackage } from "./packages.ts";
import { played } from "./played.ts";

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

/** Servers that a sample of the published rollouts is played on: answers, tools by routes, over MCP and without a route, steps. */
const sampled = ["mcqa", "example_multi_step", "example_mcp_weather", "example_multi_turn_gymnasium", "xlam_fc"];
/** Servers whose draws or time limits decide rewards, so that the published ones do not come again. */
const drawn: Readonly<Record<string, string>> = { blackjack: "its cards are drawn without a seed" };

withPackage("nemo-gym", "nemo-gym 0.4: the published rollouts of its servers earn their published rewards", async () => {
  const at = await folderOf("nemo-gym", "resources_servers");
  const silent: string[] = [];
  for (const name of share(0, 1) === 1 ? serversWithRollouts(at) : sampled) {
    const port = await serve("nemo-gym", (free) => [script("nemo_gym_server.py"), name, String(free)], join(at, "..")).catch(
      () => 0,
    );
    const late = new Promise<Replayed[]>((resolve) => setTimeout(() => resolve([]), 60_000).unref());
    const results = port === 0 ? [] : await Promise.race([replay(`http://127.0.0.1:${port}`, join(at, name), 100), late]);
    if (results.length === 0 || results.every(({ fault }) => fault !== undefined)) silent.push(name);
    else {
      const same = results.filter(({ published, reward }) => reward !== undefined && Math.abs(reward - published) < 1e-9).length;
      if (sampled.includes(name)) expect(same, JSON.stringify(results)).toBe(results.length);
      const why = drawn[name] === undefined ? "" : `: ${drawn[name]}`;
      played({
        ...{ wire: "NeMo Gym", package: "nemo-gym 0.4.0", what: `\`${name}\`, its published rollouts`, episodes: results.length },
        result: same === results.length ? "the published rewards" : `the published reward in ${same}${why}`,
      });
    }
    killServer();
  }
  if (silent.length === 0) return;
  const names = silent.map((name) => `\`${name}\``).join(", ");
  played({
    ...{
      wire: "NeMo Gym",
      package: "nemo-gym 0.4.0",
      what: "servers that do not start or grade from the package alone",
      episodes: 0,
    },
    result: `not played, as they need a judge, packages or data of their own: ${names}`,
  });
});
