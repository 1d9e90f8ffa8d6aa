import { expect } from "vitest";
import { publishedRollouts, type Replayed, replay, type Started, startServers } from "./nemo-replay.ts";
import { call, opened, share, withPackage } from "./packages.ts";
import { played } from "./played.ts";

withPackage("nemo-gym", "nemo-gym 0.4: a published resource server with a session, tools and a verdict", async () => {
  for await (const server of startServers(await publishedRollouts(["example_session_state_mgmt"]))) {
    const port = "port" in server ? server.port : 0;
    const environment = await opened(`nemo-gym:http://127.0.0.1:${port}`, { tasks: { train: server.rows } });
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

/** A sample of the published rollouts: answers, verdicts of a model, tools by routes, over MCP and without a route, steps. */
const sampled = ["mcqa", "omniscience", "example_multi_step", "example_mcp_weather", "example_multi_turn_gymnasium", "xlam_fc"];
/** Servers that do not give a published reward again, and why. */
const different: Readonly<Record<string, string>> = {
  blackjack: "its cards are drawn without a seed",
  grl_tetris: "one game returns 9.4 where 19.4 was published",
  math_with_code: "an answer that was refused when they were published is right for its present grader",
  simpleqa: 'its present grader reads the "A" of the judge\'s "After" as the verdict',
  terminus_judge: "its present grader asks for one verdict where two were published",
};

/** What servers need that answer 0, or nothing for minutes, where they do not find it. */
const lacking: Readonly<Record<string, string>> = {
  competitive_coding_challenges: "a sandbox on another server",
  math_formal_lean: "a sandbox on another server",
  longmt_eval: "models on GPUs",
  swerl_gen: "container images",
};

withPackage("nemo-gym", "nemo-gym 0.4: the published rollouts of its servers earn their published rewards", async () => {
  const published = await publishedRollouts(share(0, 1) === 1 ? undefined : sampled);
  for (let first = 0; first < published.length; first += 12)
    for await (const server of startServers(published.slice(first, first + 12))) {
      const { name } = server;
      const late = new Promise<string>((resolve) => setTimeout(() => resolve("not within two minutes"), 120_000).unref());
      const results = "why" in server ? server.why : await Promise.race([replay(server.port, server).catch(String), late]);
      if (sampled.includes(name)) expect(results).toEqual(expect.arrayContaining([expect.objectContaining({ reward: 1 })]));
      const isPlayed = typeof results === "object" && results.length > 0 && results.every(({ fault }) => fault === undefined);
      const need = lacking[name] ?? (isPlayed ? undefined : missing(server, results));
      played({
        ...{ wire: "NeMo Gym", package: "nemo-gym 0.4.0", what: `\`${name}\`, its published rollouts` },
        ...(isPlayed && need === undefined
          ? { episodes: results.length, result: verdictOn(server, results), refused: "nemoGymClient" }
          : { episodes: 0, result: "not played", refused: `needs ${need}` }),
      });
    }
});

function verdictOn({ name }: Started, results: readonly Replayed[]): string {
  const same = results.filter(({ published, reward }) => reward !== undefined && Math.abs(reward - published) < 1e-9).length;
  if (same === results.length) return "the published rewards";
  return `the published rewards but for some: ${different[name] ?? `${same} of ${results.length}`}`;
}

/** What keeps rollouts from being played, by the server's own error and the hosts that it looked for. */
function missing(server: Started, results: string | readonly Replayed[]): string {
  const said = typeof results === "string" ? results : results.flatMap((each) => each.fault ?? [])[0];
  if (said === undefined) return "the rows of its rollouts, which are not published";
  const trouble = server.trouble();
  if (trouble.includes("a model")) return "a model that judges";
  const fault = [said, ...trouble].join("\n");
  const [, module] = /No module named '([\w.]+)'/.exec(fault) ?? [];
  if (module !== undefined) return `the Python module \`${module}\``;
  return needs.find(([pattern]) => pattern.test(fault))?.[1] ?? fault.split("\n")[0].slice(0, 120);
}

/** What a server needs that neither its package nor a registry has, by its error. */
const needs: readonly (readonly [RegExp, string])[] = [
  [/undefined|PLACEHOLDER/, "rollouts: the published ones have no responses"],
  [/git'|git clone/, "a repository that it clones"],
  [/uv'|venv/, "a Python environment that it builds"],
  [/_key\b/, "a key"],
  [/apptainer/, "container images"],
  [/abstract class/, "a class that extends it"],
  [/URLError|Name or service|raw\.github|download/i, "data that it downloads"],
];
