import { expect, test } from "vitest";
import { testChat } from "../../../test/fixtures/chats.ts";
import { seedOf } from "../../core/random.ts";
import type { SampleRequest, Sampler } from "../../engines/engine.ts";
import type { Environment, Episode } from "../../environments/environment.ts";
import { requireCapabilities } from "../../training/config/capabilities.ts";
import { resolveConfig } from "../../training/config/config.ts";
import { checkBranching } from "../../training/sampling/branching.ts";
import { tokenActor } from "../actors/token-actor.ts";
import { opened } from "../answers.ts";
import { choosingRuleOf } from "./rules.ts";
import { branchingSchema } from "./settings.ts";
import { rolloutTrees, type TreesOptions } from "./trees.ts";

const chat = testChat("plain");
const action = (entropies: number[], texts = entropies.map(() => "a")) => ({ entropies, texts });

test("points are behind the tokens with the highest Z(H), white space and last tokens apart, by hand", () => {
  const rollouts = [
    // Mean 2, deviation √(12/6) = √2. Z: −√2, √2, 0 | −½√2, ½√2, 0. The last of each action is none.
    [action([0, 4, 2]), action([1, 3, 2])],
    // Mean 5, deviation 2. Z: −1, 1, −½ ·…: 3, 7, 3, 7. The first 7 is a space, the second the last.
    [action([3, 7, 3, 7], ["a", " ", "a", "a"])],
    [],
  ];
  const chosen = (points: number) =>
    (choosingRuleOf({ kind: "appo" })?.choose(rollouts, points, { kind: "appo" }) ?? []).map(({ rollout, action: at, kept }) => [
      rollout,
      at,
      kept,
    ]);
  const [first, second, third] = [
    [0, 0, 2],
    [0, 1, 2],
    [0, 1, 1],
  ];
  expect(chosen(3)).toEqual([first, second, third]);
  expect(chosen(1)).toEqual([first]);
  expect(chosen(0)).toEqual([]);
  // Equal scores stay in their order: both of rollout 1 are at −1.
  expect(chosen(99)).toEqual([first, second, third, [1, 0, 1], [1, 0, 3], [0, 0, 1]]);
});

const vocabularySize = 306;
const unsure = "u";

/** Writes "move" and two letters of the request's seed, or "Done." and the like in the third turn. Before a letter it is unsure. */
function writer() {
  const requests: SampleRequest[] = [];
  const released: string[] = [];
  const sampler: Sampler = {
    info: { name: "writer", parameters: 0, vocabularySize, maxLength: 100_000, capabilities: [] },
    weightVersion: 7,
    async sample(request) {
      requests.push(request);
      const written = chat.tokenizer.decode(request.context).split("assistant\n");
      const begun = written.at(-1) ?? "";
      const letter = (i: number) => String.fromCharCode(97 + (seedOf(request.seed, i) % 26));
      const whole = `${written.length < 4 ? "move" : "done"} ${letter(0)}${letter(1)}<|im_end|>`;
      const rest = chat.tokenizer.encode(whole.slice(begun.length));
      const tokens = rest.slice(0, request.maxTokens);
      const at = (t: number) => begun.length + t;
      return {
        tokens,
        logprobs: tokens.map((_, t) => -(seedOf(request.seed, t) >>> 8) / 2 ** 24),
        entropies: tokens.map((_, t) => (at(t) === 5 ? 3 : at(t) === 6 ? 2 : 0.5)),
        finish: tokens.length < rest.length ? "length" : "stop",
        weightVersion: 7,
      };
    },
    release: (id) => void released.push(id),
  };
  return { sampler, requests, released };
}

/** Counts moves; every one is answered by its number. */
function game({ clone = true, replayable = false, async = false } = {}) {
  const counts = { open: 0, clones: 0 };
  const from = (moved: number): Episode => {
    let moves = moved;
    counts.open++;
    const copy = () => {
      counts.clones++;
      return from(moves);
    };
    return {
      messages: [{ role: "user", content: "hi" }],
      tools: [],
      reply: ({ content }) =>
        content.startsWith("move") ? { done: false, messages: [{ role: "user", content: `moved ${++moves}` }] } : { done: true },
      score: () => ({ reward: moves }),
      ...(clone && { clone: () => (async ? Promise.resolve().then(copy) : copy()) }),
      close: () => void counts.open--,
    };
  };
  const environment: Environment = { name: "game", size: () => 1, task: () => ({ id: "t" }), replayable, start: () => from(0) };
  return { environment, counts };
}

const options: TreesOptions = {
  ...{ name: "s", groupSize: 4, concurrency: 64, seed: 5, maxTurns: 5, maxTokens: 500, episodeTimeoutMs: 1000 },
  branching: branchingSchema.parse({ entropy: "exact", rule: { kind: "appo" } }),
};

async function treeOf(environment: Environment, change: Partial<TreesOptions> = {}, { sampler } = writer()) {
  const [group] = await rolloutTrees(sampler, chat, environment, [{ id: "t" }], { ...options, ...change });
  return group.trajectories;
}

test("forks begin inside of actions once the first rollouts have ended, and keep the tokens up to there as they were sampled", async () => {
  const { environment, counts } = game();
  const own = writer();
  const leaves = await treeOf(environment, {}, own);
  // Behind the first letter of some turns: the highest scores. A tie stays in the order of rollouts and turns.
  expect(leaves.map(({ branch }) => branch)).toEqual([
    undefined,
    undefined,
    { from: "s/0/0", turn: 0, kept: 6, by: "clone" },
    { from: "s/0/0", turn: 1, kept: 6, by: "clone" },
  ]);
  for (const [i, fork] of leaves.slice(2).entries()) {
    const parent = leaves[0];
    const [now, before] = [fork.turns[i], parent.turns[i]];
    for (const row of ["action", "samplerLogprobs", "entropies"] as const) {
      expect(now[row].slice(0, 6)).toEqual(before[row].slice(0, 6));
      expect(now[row]).toHaveLength(now.action.length);
    }
    expect(now.samplerLogprobs[6]).not.toBe(before.samplerLogprobs[6]);
    expect(now.context).toBe(before.context);
    // The environment is as it was before the action, and every move of the fork is answered once.
    expect(fork.reward).toBe(2);
    expect(fork.messages.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
      "hi",
      "moved 1",
      "moved 2",
    ]);
    expect(fork.messages.find((_, at) => at === 1 + 2 * i)?.content).toBe(chat.actionText(now.action).replace("<|im_end|>", ""));
    const [first] = own.requests.filter(({ cacheKey }) => cacheKey === fork.id);
    expect(first.context).toEqual([...before.context.slice(), ...before.action.slice(0, 6)]);
    expect(first.maxTokens).toBe(500 - 6);
  }
  expect(leaves.map(({ turns }) => turns.map(({ branching }) => branching?.forks ?? unsure))).toEqual([
    [1, 1, 0],
    [0, 0, 0],
    [unsure, 0, 0],
    [1, unsure, 0],
  ]);
  // A turn branches where it was given forks, and nowhere else.
  for (const { branching } of leaves.flatMap(({ turns }) => turns))
    if (branching !== undefined) expect(branching.branch).toBe(branching.forks > 0);
  expect(counts.open).toBe(0);
  expect(own.released.toSorted()).toEqual([0, 1, 2, 3].map((i) => `s/0/${i}`));
});

test("by replay and by clones that wait the tree is the same", async () => {
  const cloned = await treeOf(game().environment);
  for (const change of [{ async: true }, { async: false, clone: false, replayable: true }]) {
    const { environment, counts } = game(change);
    const tree = await treeOf(environment);
    expect(tree.map(({ branch }) => branch?.by)).toEqual([
      undefined,
      undefined,
      ...new Array(2).fill(change.async ? "clone" : "replay"),
    ]);
    expect(tree.map(({ turns }) => turns.map(({ action: tokens }) => tokens))).toEqual(
      cloned.map(({ turns }) => turns.map(({ action: tokens }) => tokens)),
    );
    expect(counts.open).toBe(0);
  }
});

test("an action ends at a stop string that begins in the kept tokens and ends in those sampled again", async () => {
  const { environment } = game();
  const live = opened(await environment.start({ id: "t" }, 0));
  const encode = (text: string) => chat.tokenizer.encode(text);
  const of = async (stopStrings: string[], rest: string) => {
    const tokens = encode(rest);
    const sampler: Sampler = {
      ...writer().sampler,
      sample: async () => ({
        tokens,
        logprobs: tokens.map(() => -1),
        entropies: tokens.map(() => 1),
        finish: "length",
        weightVersion: 7,
      }),
    };
    const kept = encode("move a");
    const begun = { tokens: kept, logprobs: kept.map(() => -2), entropies: kept.map(() => 2) };
    const session = tokenActor(sampler, { ...chat, stopStrings }, { begun }).begin(live, { ...options, id: "x", group: "g" });
    const act = await session.act(live, [], live.episode.messages);
    return [chat.actionText(act?.record.action ?? []), act?.record.samplerLogprobs.join(), act?.truncated];
  };
  const kept = "-2,-2,-2,-2,-2,-2";
  expect(await of(["e a!?"], "!?bc")).toEqual(["move a!?", `${kept},-1,-1`, false]);
  expect(await of(["e a!?"], "!bc")).toEqual(["move a!bc", `${kept},-1,-1,-1`, true]);
  expect(await of([], "!?bc")).toEqual(["move a!?bc", `${kept},-1,-1,-1,-1`, true]);
});

test("a point has beam − 1 forks, and what finds no point is a new rollout", async () => {
  const of = async (branching: object) => {
    const leaves = await treeOf(game().environment, {
      branching: branchingSchema.parse({ entropy: "exact", rule: { kind: "appo" }, ...branching }),
      maxTokens: 2,
      groupSize: 5,
    });
    return leaves.map(({ branch }) => branch && [branch.from, branch.turn, branch.kept]);
  };
  // Actions of two tokens: each rollout is cut off in its first turn, and has one point.
  const [a, b] = [
    ["s/0/0", 0, 1],
    ["s/0/1", 0, 1],
  ];
  expect(await of({ firstRollouts: 2, beam: 3 })).toEqual([undefined, undefined, a, a, b]);
  expect(await of({ firstRollouts: 2 })).toEqual([undefined, undefined, a, b, undefined]);
  expect(await of({ firstRollouts: 5 })).toEqual(new Array(5).fill(undefined));
});

test("before the first rollout: an environment without a way back, an engine without entropies, a number of rollouts that rollouts decide", async () => {
  const rule = { kind: "appo" } as const;
  const config = resolveConfig({ environment: "office", algorithm: "grpo", rollout: { branching: { rule } } });
  await expect(checkBranching(config, game({ clone: false }).environment)).rejects.toThrow("rollout.branching");
  const engine = { name: "other", capabilities: ["exact-state", "full-precision-state", "gradient-clipping"] as const };
  expect(() => requireCapabilities(config, engine)).toThrow('an engine with the capability "top-logprobs"');
  const branching = { rule, firstRollouts: { kind: "pre-monitored" } } as const;
  expect(() => resolveConfig({ environment: "office", algorithm: "grpo", rollout: { branching } })).toThrow(
    "rollout.branching.firstRollouts",
  );
});
