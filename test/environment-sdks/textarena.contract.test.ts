import { join } from "node:path";
import { expect } from "vitest";
import { gameOfTwo } from "../../research/recipes/self-play.ts";
import type { Sampler } from "../../src/engines/engine.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { branchingSchema } from "../../src/rollouts/branching/settings.ts";
import { rolloutTrees } from "../../src/rollouts/branching/trees.ts";
import { rollout } from "../../src/rollouts/rollout.ts";
import { testChat } from "../fixtures/chats.ts";
import { scriptedSampler } from "../scripted-sampler.ts";
import { opened, serve, share, withPackage } from "./packages.ts";
import { played } from "./played.ts";

const root = join(import.meta.dirname, "../..");
const serveGame = (game: string, settings: object = {}) =>
  serve("openenv", (port) => [
    ...[join(root, "research/recipes/textarena-server.py"), game, String(port)],
    JSON.stringify(settings),
  ]);

/** Plays guesses until the game ends. @returns its hints, and its reward */
async function play(environment: Environment, index: number, guess: (hints: readonly string[]) => number) {
  const episode = await environment.start(await environment.task("test", index), 0);
  const hints: string[] = [];
  for (let done = false; !done; ) {
    const reply = await episode.reply({ role: "assistant", content: `[${guess(hints)}]` });
    hints.push(...(reply.messages ?? []).map(({ content }) => content));
    done = reply.done === true;
  }
  const { reward } = await episode.score([]);
  await episode.close?.();
  return { hints, reward };
}

/** The middle of what the hints leave of 1 to 20. */
function middle(hints: readonly string[]): number {
  let [low, high] = [1, 20];
  const guess = () => Math.floor((low + high) / 2);
  for (const hint of hints) [low, high] = hint.includes("higher") ? [guess() + 1, high] : [low, guess() - 1];
  return guess();
}

withPackage(
  "openenv",
  "openenv 0.10 serves textarena 0.7.4: binary search wins GuessTheNumber, and repeating a guess loses it",
  async () => {
    const port = await serveGame("GuessTheNumber-v0-raw");
    const environment = await opened(`openenv:ws://127.0.0.1:${port}`, { actions: "text" });
    const episode = await environment.start(await environment.task("test", 0), 0);
    await episode.close?.();
    expect(episode.messages[0]).toMatchObject({
      role: "user",
      content: expect.stringContaining("between 1 and 20 within 10 turns"),
    });
    const episodes = share(20, 160);
    const games = [];
    for (let i = 0; i < episodes; i++) games.push(await play(environment, i, middle));
    expect(games.filter(({ reward }) => reward !== 1)).toEqual([]);
    expect(Math.max(...games.map(({ hints }) => hints.length))).toBeLessThanOrEqual(4);
    // Every index is a game of its own, and the same game each time.
    expect(new Set(games.map(({ hints }) => hints.join())).size).toBeGreaterThan(5);
    expect(await Promise.all(games.slice(0, 8).map((_, i) => play(environment, i, middle)))).toEqual(games.slice(0, 8));
    const missed = games.findIndex(({ hints }) => hints[0]?.includes("higher"));
    const { hints, reward } = await play(environment, missed, () => 1);
    expect(hints).toEqual([
      "The target number is higher.",
      expect.stringMatching(/^You attempted an invalid move.*already guessed/),
    ]);
    expect(reward).toBeGreaterThan(0);
    expect(reward).toBeLessThan(0.55);
    played({
      ...{ wire: "OpenEnv", package: "openenv 0.10.0, textarena 0.7.4", what: "GuessTheNumber-v0-raw, by binary search" },
      ...{ episodes, result: "reward 1; a repeated guess loses", refused: "nothing" },
    });
  },
);

withPackage("openenv", "rollouts of textarena branch: a fork repeats the guesses before it in a session of its own", async () => {
  const port = await serveGame("GuessTheNumber-v0-raw");
  const environment = await opened(`openenv:ws://127.0.0.1:${port}`, { actions: "text", replayable: true });
  const chat = testChat("plain");
  let sampled = 0;
  // Each path guesses 20, 19, 18, … and draws nothing: a fork is right if the game is where its parent's was.
  const sampler: Sampler = {
    info: { name: "descending", parameters: 0, vocabularySize: 306, maxLength: 100_000, capabilities: [] },
    weightVersion: 0,
    async sample({ context }) {
      sampled++;
      const turn = chat.tokenizer.decode(context).split("assistant\n").length - 2;
      const tokens = chat.tokenizer.encode(`[${20 - turn}]<|im_end|>`);
      const zeros = tokens.map(() => 0);
      return { tokens, logprobs: zeros, modelLogprobs: zeros, entropies: zeros, finish: "stop", weightVersion: 0 };
    },
    release: () => {},
  };
  const branching = branchingSchema.parse({ entropy: "exact", rule: { kind: "paper", alpha: 1, beta: 0, threshold: 0 } });
  const [group] = await rolloutTrees(sampler, chat, environment, [await environment.task("test", 0)], {
    ...{ name: "s", groupSize: 4, concurrency: 8, seed: 1, maxTurns: 6, maxTokens: 8, episodeTimeoutMs: 60_000, branching },
  });
  expect(group?.trajectories.map(({ branch }) => branch?.by)).toEqual([undefined, undefined, "replay", "replay"]);
  const [whole, ...others] = group?.trajectories ?? [];
  expect(whole?.turns.length).toBeGreaterThan(2);
  for (const { messages, reward, stopReason } of others)
    expect({ messages, reward, stopReason }).toEqual({
      messages: whole?.messages,
      reward: whole?.reward,
      stopReason: whole?.stopReason,
    });
  expect(sampled).toBeLessThan(4 * (whole?.turns.length ?? 0));
});

withPackage(
  "openenv",
  "the two players of textarena's Nim are roles: each reads its own screens, and has its own reward",
  async () => {
    const port = await serveGame("Nim-v0-raw", { players: 2 });
    const environment = gameOfTwo(`openenv:ws://127.0.0.1:${port}`);
    await environment.open?.();
    const chat = testChat("plain");
    // Piles of 3, 4 and 5: the last move takes the last pile.
    const play = async (...moves: readonly string[]) => {
      let next = 0;
      const options = { id: "n/0", group: "n", seed: 1, maxTurns: 9, maxTokens: 50, episodeTimeoutMs: 60_000 };
      const sampler = scriptedSampler(chat.tokenizer, () => moves[next++] ?? "");
      return rollout(sampler, chat, environment, await environment.task("test", 0), options);
    };
    try {
      const won = await play("[0 3]", "[1 4]", "[2 5]");
      expect(won).toMatchObject({ stopReason: "done", scores: { "reward:first": 1, "reward:second": -1 } });
      expect(won.turns.map(({ role }) => role)).toEqual(["first", "second", "first"]);
      const [, second, third] = won.turns.map(({ context }) => chat.tokenizer.decode(context.slice()));
      expect(second).toContain("Welcome to Nim, Player 1");
      expect(second).not.toContain("Welcome to Nim, Player 0");
      expect(third).toMatch(/Welcome to Nim, Player 0.*\[0 3\].*Player 1 removes 4 from pile 1/s);
      expect((await play("[0 3]", "[1 1]", "[1 3]", "[2 5]")).scores).toEqual({ "reward:first": -1, "reward:second": 1 });
      // The offender is asked again, once.
      const refused = await play("[0 9]", "[0 9]");
      expect([refused.turns.map(({ role }) => role), refused.scores]).toEqual([
        ["first", "first"],
        { "reward:first": -1, "reward:second": 1 },
      ]);
    } finally {
      await environment.close?.();
    }
  },
);
