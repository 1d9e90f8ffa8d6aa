import { join } from "node:path";
import { expect } from "vitest";
import { type Replayed, replay, serversWithRollouts, startServers } from "./nemo-replay.ts";
import { call, folderOf, opened, share, withPackage } from "./packages.ts";
import { played } from "./played.ts";

withPackage("nemo-gym", "nemo-gym 0.4: a published resource server with a session, tools and a verdict", async () => {
  const at = await folderOf("nemo-gym", "resources_servers.example_session_state_mgmt");
  for await (const server of startServers(["example_session_state_mgmt"], at)) {
    const port = "port" in server ? server.port : 0;
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
  }
});

/** Servers that a sample of the published rollouts is played on: answers, tools by routes, over MCP and without a route, steps. */
const sampled = ["mcqa", "example_multi_step", "example_mcp_weather", "example_multi_turn_gymnasium", "xlam_fc"];
/** Servers that do not give a published reward again, and why. */
const different: Readonly<Record<string, string>> = {
  blackjack: "its cards are drawn without a seed",
  grl_tetris: "one game returns 9.4 where 19.4 was published",
  math_with_judge: "a comparison of its grader runs out of time",
  math_with_code: "an answer that was refused when they were published is right for its present grader",
};

withPackage("nemo-gym", "nemo-gym 0.4: the published rollouts of its servers earn their published rewards", async () => {
  const at = await folderOf("nemo-gym", "resources_servers");
  const names = share(0, 1) === 1 ? serversWithRollouts(at) : sampled;
  for (let first = 0; first < names.length; first += 12)
    for await (const server of startServers(names.slice(first, first + 12), at)) {
      const { name } = server;
      const late = new Promise<string>((resolve) => setTimeout(() => resolve("not within two minutes"), 120_000).unref());
      const results =
        "why" in server ? server.why : await Promise.race([replay(server.port, join(at, name)).catch(String), late]);
      if (sampled.includes(name)) expect(results).toEqual(expect.arrayContaining([expect.objectContaining({ reward: 1 })]));
      const isPlayed = typeof results === "object" && results.length > 0 && results.every(({ fault }) => fault === undefined);
      played({
        ...{ wire: "NeMo Gym", package: "nemo-gym 0.4.0", what: `\`${name}\`, its published rollouts` },
        ...(isPlayed
          ? { episodes: results.length, result: verdictOn(name, results) }
          : {
              episodes: 0,
              result: "not played",
              refused: `needs ${judged.includes(name) ? "a model that judges" : missing(results)}`,
            }),
      });
    }
});

function verdictOn(name: string, results: readonly Replayed[]): string {
  const same = results.filter(({ published, reward }) => reward !== undefined && Math.abs(reward - published) < 1e-9).length;
  if (same === results.length) return "the published rewards";
  return `the published rewards but for some: ${different[name] ?? `${same} of ${results.length}`}`;
}

/** What keeps rollouts from being played. */
function missing(results: string | readonly Replayed[]): string {
  if (typeof results === "string") return neededBy(results);
  const [fault] = results.flatMap((each) => each.fault ?? []);
  return fault === undefined ? "the rows of its rollouts, which are not published" : neededBy(fault);
}

/** Servers whose error does not name the model that they ask for a verdict. */
const judged = ["gdpval", "verifif"];

/** What a server needs that neither its package nor a registry has, by its error. */
const needs: readonly (readonly [RegExp, string])[] = [
  [/hang up|ECONNRESET|ECONNREFUSED/, "a model that judges"],
  [/undefined|PLACEHOLDER/, "rollouts: the published ones have no responses"],
  [/git|clone/, "a repository that it clones"],
  [/uv'|venv/, "a Python environment that it builds"],
  [/_key\b/, "a key"],
  [/sandbox/, "a sandbox on another server"],
  [/abstract class/, "a class that extends it"],
  [/URLError|Name or service|ticker|dataset|download/i, "data that it downloads"],
  [/within/, "more than a minute for an answer"],
  [/500 Internal|SystemExit/, "the settings of NeMo Gym's head server"],
];

function neededBy(why: string): string {
  const [, module] = /No module named '([\w.]+)'/.exec(why) ?? [];
  if (module !== undefined) return `the Python module \`${module}\``;
  return needs.find(([pattern]) => pattern.test(why))?.[1] ?? why.split("\n")[0].slice(0, 120);
}
