import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { testChat } from "../../../test/fixtures/chats.ts";
import { seedOf } from "../../core/random.ts";
import type { Group, Trajectory } from "../../core/trajectory.ts";
import type { SampleRequest, Sampler } from "../../engines/engine.ts";
import { defineEnvironment } from "../../environments/define.ts";
import type { Environment, Episode, Task } from "../../environments/environment.ts";
import { defineTool } from "../../tools/tool.ts";
import { rolloutGroups } from "../rollout.ts";
import { branchingSchema } from "./settings.ts";
import { rolloutTrees, type TreesOptions } from "./trees.ts";

const chat = testChat("plain");
const vocabularySize = 306;
const callLook = '<tool_call>{"name": "look", "arguments": {}}</tool_call>';

/** What a path does in a turn: what it writes, and how unsure it is (H, between 0 and 1). */
type Script = (id: string, turn: number) => { readonly text: string; readonly entropy: number };

/** A sampler that follows a script. `wait` gives the milliseconds that a request takes; undefined: none at all. */
function scripted(script: Script, wait: (id: string, turn: number) => number | undefined = () => undefined) {
  const requests: SampleRequest[] = [];
  const log: string[] = [];
  const sampler: Sampler = {
    info: { name: "scripted", parameters: 0, vocabularySize, maxLength: 100_000, capabilities: [] },
    weightVersion: 7,
    async sample(request) {
      const id = request.cacheKey ?? "";
      const turn = chat.tokenizer.decode(request.context).split("assistant\n").length - 2;
      requests.push(request);
      log.push(`sample ${id} ${turn}`);
      const milliseconds = wait(id, turn);
      if (milliseconds !== undefined) await new Promise((resolve) => setTimeout(resolve, milliseconds));
      request.signal?.throwIfAborted();
      const { text, entropy } = script(id, turn);
      const tokens = chat.tokenizer.encode(`${text}<|im_end|>`);
      const entropies = tokens.map(() => entropy * Math.log(vocabularySize));
      const logprobs = tokens.map((_, t) => -(seedOf(request.seed, t) >>> 8) / 2 ** 24);
      return { tokens, logprobs, modelLogprobs: logprobs, entropies, finish: "stop", weightVersion: 7 };
    },
    release: (id) => void log.push(`release ${id}`),
  };
  return { sampler, requests, log };
}

/** An office of one drawer: every look tells how often this episode has looked. */
function drawer(change: { clone?: boolean; replayable?: boolean; wait?: () => number } = {}) {
  const counts = { started: 0, looks: 0, closed: 0 };
  const episodeFrom = (looked: number): Episode => {
    let own = looked;
    const look = defineTool({
      name: "look",
      description: "Looks.",
      parameters: z.object({}),
      replayable: change.replayable,
      execute: async () => {
        counts.looks++;
        if (change.wait !== undefined) await new Promise((resolve) => setTimeout(resolve, change.wait?.()));
        return `look ${++own}`;
      },
    });
    return {
      messages: [{ role: "user", content: "hi" }],
      tools: [look],
      reply: () => ({ done: true }),
      score: () => ({ reward: own }),
      ...(change.clone === false ? {} : { clone: () => episodeFrom(own) }),
      close: () => void counts.closed++,
    };
  };
  const environment: Environment = {
    name: "drawer",
    size: () => 1,
    task: () => ({ id: "t" }),
    replayable: change.replayable,
    start: () => {
      counts.started++;
      return episodeFrom(0);
    },
  };
  return { environment, counts };
}

/** Branches wherever the entropy has risen. */
const onEveryRise = branchingSchema.parse({ entropy: "exact", rule: { kind: "paper", alpha: 0, beta: 1, threshold: 0 } });
const never = branchingSchema.parse({ entropy: "exact", rule: { kind: "paper", alpha: 0, beta: 1, threshold: 1e9 } });
const options: TreesOptions = {
  ...{ name: "s", groupSize: 4, concurrency: 64, seed: 5, maxTurns: 5, maxTokens: 500, episodeTimeoutMs: 1000 },
  branching: onEveryRise,
};
const tasks: readonly Task[] = [{ id: "t" }];

async function treeOf(
  script: Script,
  change: Partial<TreesOptions> = {},
  environment = drawer().environment,
): Promise<readonly Trajectory[]> {
  const [group] = await rolloutTrees(scripted(script).sampler, chat, environment, tasks, { ...options, ...change });
  return group.trajectories;
}

/** "0@1" for a fork of path 0 at turn 1; "root" for the others. */
const shape = (trajectories: readonly Trajectory[]) =>
  trajectories.map(({ branch }) => (branch === undefined ? "root" : `${branch.from.split("/").at(-1)}@${branch.turn}`));

/** Looks so many times, then is done; as unsure as said in each turn. */
const looking = (looks: number, entropies: (path: number, turn: number) => number): Script => {
  return (id, turn) => ({
    text: turn < looks ? callLook : "Done.",
    entropy: entropies(Number(id.split("/").at(-1)), turn),
  });
};

//  0 ─ look ┬ look ─ look ─ done        0 rises at turn 1, and forks there into itself and 2
//           └ look ─ look ┬ done        2 rises at turn 3, and forks there into itself and 3
//                         └ done  (3)
//  1 ─ look ─ look ─ look ─ done        1 never rises
// H_0 is 0.25 in all of them, although the first action that 2 takes itself is surer than that.
const rises = ["0@1", "2@3"];
const example = looking(3, (path, turn) => (rises.includes(`${path}@${turn}`) ? 0.5 : path === 2 && turn === 1 ? 0.125 : 0.25));

/** A game that is played by messages: every one gets a reply. @param tools shown to the model, of which none is needed */
function game(tools: Episode["tools"] = []): Environment {
  const start = (): Episode => {
    let moves = 0;
    return {
      messages: [{ role: "user", content: "hi" }],
      tools,
      reply: ({ content }) =>
        content === "move" ? { done: false, messages: [{ role: "user", content: `moved ${++moves}` }] } : { done: true },
      score: () => ({ reward: moves }),
    };
  };
  return { name: "game", size: () => 1, task: () => ({ id: "t" }), replayable: true, start };
}

/** The example below, in messages. */
const moving: Script = (id, turn) => ({ text: turn < 3 ? "move" : "Done.", entropy: example(id, turn).entropy });

test("a game that is played by messages branches after the replies, and a conversation about tools does not", async () => {
  const leaves = await treeOf(moving, {}, game());
  expect(shape(leaves)).toEqual(["root", "root", "0@1", "2@3"]);
  expect(leaves.map(({ reward, branch }) => [reward, branch?.by])).toEqual(
    [3, 3, 3, 3].map((r, i) => [r, i < 2 ? undefined : "replay"]),
  );
  const [tool] = (await drawer({ replayable: true }).environment.start({ id: "t" }, 0)).tools;
  expect(shape(await treeOf(moving, {}, game(tool === undefined ? [] : [tool])))).toEqual(["root", "root", "root", "root"]);
});

test("a tree is its leaves: each a whole trajectory, which shares the turns before its branch with the one that it was forked from", async () => {
  const leaves = await treeOf(example);
  expect(shape(leaves)).toEqual(["root", "root", "0@1", "2@3"]);
  expect(leaves.map(({ id, group, task, stopReason }) => [id, group, task, stopReason])).toEqual(
    [0, 1, 2, 3].map((attempt) => [`s/0/${attempt}`, "s/0", "t", "done"]),
  );
  for (const leaf of leaves) {
    expect(leaf.turns.map(({ trajectory, turn }) => [trajectory, turn])).toEqual([0, 1, 2, 3].map((turn) => [leaf.id, turn]));
    expect(leaf.reward).toBe(3);
    expect(leaf.messages.filter(({ role }) => role === "tool").map(({ content }) => content)).toEqual([
      "look 1",
      "look 2",
      "look 3",
    ]);
  }
  expect(leaves[2].branch).toEqual({ from: "s/0/0", turn: 1, by: "clone" });
  for (const { turns, branch } of leaves.slice(2)) {
    const parent = leaves.find(({ id }) => id === branch?.from);
    for (let t = 0; t < (branch?.turn ?? 0); t++) {
      const { trajectory: _, ...shared } = turns[t];
      expect(parent?.turns[t]).toMatchObject(shared);
    }
    const at = branch?.turn ?? 0;
    // One node of the tree, not two equal ones.
    expect(turns[at].context).toBe(parent?.turns[at].context);
    expect(turns[at].samplerLogprobs).not.toEqual(parent?.turns[at].samplerLogprobs);
  }
});

test("every turn after a tool result keeps its entropy, how far it rose, what was decided and what came of it", async () => {
  const leaves = await treeOf(example);
  const decisions = leaves.map(({ turns }) =>
    turns.map(({ branching }) => branching && [branching.entropy, branching.rise, branching.branch, branching.forks]),
  );
  const [calm, rise] = [
    [0.25, 0, false, 0],
    [0.5, 0.25, true, 1],
  ];
  expect(
    decisions.map((turns) =>
      turns.map((each) => each?.map((value) => (typeof value === "number" ? Math.round(value * 1e9) / 1e9 : value))),
    ),
  ).toEqual([
    [undefined, rise, calm, calm],
    [undefined, calm, calm, calm],
    [undefined, undefined, calm, rise],
    [undefined, undefined, calm, undefined],
  ]);
});

test("what is left when every path has ended is rolled out from the root", async () => {
  expect(
    shape(
      await treeOf(
        looking(2, () => 0.5),
        { groupSize: 5 },
      ),
    ),
  ).toEqual(["root", "root", "root", "root", "root"]);
  const once = looking(2, (path, turn) => (path === 1 && turn === 2 ? 0.5 : 0.25));
  expect(shape(await treeOf(once, { groupSize: 6 }))).toEqual(["root", "root", "root", "1@2", "root", "root"]);
});

test("a branch point has as many ways on as the beam, as long as there are leaves", async () => {
  const rising = looking(2, (_, turn) => turn / 10);
  const branching = { ...onEveryRise, firstRollouts: 1, beam: 3 };
  expect(shape(await treeOf(rising, { branching }))).toEqual(["root", "0@1", "0@1", "0@2"]);
  expect(shape(await treeOf(rising, { branching: { ...branching, beam: 2 } }))).toEqual(["root", "0@1", "0@2", "1@2"]);
  expect(shape(await treeOf(rising, { branching: { ...branching, beam: 9 } }))).toEqual(["root", "0@1", "0@1", "0@1"]);
});

test("only the turn after a tool's answer branches, a wrong call's included", async () => {
  let replies = 0;
  const { environment } = drawer();
  const talking: Environment = {
    ...environment,
    start: async (task, seed) => ({
      ...(await environment.start(task, seed)),
      reply: () => (replies++ < 20 ? { done: false, messages: [{ role: "user", content: "and?" }] } : { done: true }),
    }),
  };
  const texts = ["Hm?", "Hm?", '<tool_call>{"name": "no"}</tool_call>', "Hm?", "Hm?"];
  const [first] = await treeOf((_, turn) => ({ text: texts[turn], entropy: turn / 10 }), { branching: never }, talking);
  expect(first.turns.map(({ branching }) => branching !== undefined)).toEqual([false, false, false, true, false]);
});

test("the number of tokens, and the kind of entropy, decide what is compared", async () => {
  const { sampler } = scripted(looking(1, () => 0.25));
  const growing: Sampler = {
    ...sampler,
    sample: async (request) => {
      const action = await sampler.sample(request);
      return { ...action, entropies: action.entropies.map((_, t) => (t < 3 ? 0.1 : 0.5)) };
    },
  };
  const entropyAt1 = async (branching: object) => {
    const [group] = await rolloutTrees(growing, chat, drawer().environment, tasks, {
      ...options,
      branching: branchingSchema.parse({ ...never, ...branching }),
    });
    return group.trajectories[0].turns[1].branching?.entropy;
  };
  const logV = Math.log(vocabularySize);
  expect(await entropyAt1({ tokens: 3 })).toBeCloseTo(0.1 / logV, 12);
  expect(await entropyAt1({ tokens: 6 })).toBeCloseTo(0.3 / logV, 12);
  await expect(entropyAt1({ entropy: "top-10" })).rejects.toThrow(/topLogprobs/);
});

test("the sampler is asked for ten candidates where the entropy is read from them", async () => {
  const { sampler, requests } = scripted(looking(1, () => 0.25));
  const withCandidates: Sampler = {
    ...sampler,
    sample: async (request) => {
      const action = await sampler.sample(request);
      return { ...action, topLogprobs: action.tokens.map(() => new Array(request.topLogprobs ?? 0).fill(Math.log(0.1))) };
    },
  };
  const branching = branchingSchema.parse({ tokens: 2 });
  const [group] = await rolloutTrees(withCandidates, chat, drawer().environment, tasks, { ...options, branching });
  expect(new Set(requests.map(({ topLogprobs }) => topLogprobs))).toEqual(new Set([10]));
  expect(group.trajectories[0].turns[1].branching?.entropy).toBeCloseTo((2 * Math.log(10)) / Math.log(vocabularySize), 9);
});

const withoutDecisions = (groups: readonly Group[]) =>
  groups.map(({ id, trajectories }) => ({
    id,
    trajectories: trajectories.map(({ turns, ...rest }) => ({ ...rest, turns: turns.map(({ branching: _, ...turn }) => turn) })),
  }));

test.each([1, 2, 4])("a tree without branches is plain rollouts, with %i first ones", async (firstRollouts) => {
  const script = looking(2, (path, turn) => (path + turn) / 10);
  const many = ["a", "b", "c"].map((id) => ({ id }));
  const plain = await rolloutGroups(scripted(script).sampler, chat, drawer().environment, many, options);
  const tree = await rolloutTrees(scripted(script).sampler, chat, drawer().environment, many, {
    ...options,
    branching: { ...never, firstRollouts },
  });
  expect(withoutDecisions(tree)).toEqual(withoutDecisions(plain));
});

test("the published rule draws from a stream of its own: seed and ids decide the tree", async () => {
  const branching = branchingSchema.parse({ entropy: "exact" });
  const script = looking(3, () => 0.25);
  const shapes = await Promise.all([1, 1, 2].map(async (seed) => shape(await treeOf(script, { seed, groupSize: 8, branching }))));
  expect(shapes[0]).toEqual(shapes[1]);
  expect(shapes[0]).not.toEqual(shapes[2]);
  expect(shapes[0].filter((each) => each !== "root").length).toBeGreaterThan(0);
  // Every turn draws anew.
  const words = (await treeOf(script, { groupSize: 8, branching })).map(({ turns }) =>
    turns.flatMap(({ branching }) => branching?.branch ?? []),
  );
  expect(words.some((of) => of.includes(true) && of.includes(false))).toBe(true);
  // Nothing of a call is left for the next one.
  const { sampler } = scripted(script);
  const { environment } = drawer();
  const again = async () => rolloutTrees(sampler, chat, environment, tasks, { ...options, groupSize: 8, branching });
  expect(await again()).toEqual(await again());
});

/** A script of any shape, from a number. */
const anyScript =
  (number: number): Script =>
  (id, turn) => {
    const draw = (what: string) => (seedOf(number, what, id, turn) >>> 8) / 2 ** 24;
    return { text: draw("ends") < 0.3 ? "Done." : callLook, entropy: draw("entropy") };
  };

test("whatever answers first, the tree is the same; it has as many leaves as the budget, and shared turns are shared id for id", async () => {
  const sizes = fc.record({
    groupSize: fc.integer({ min: 1, max: 7 }),
    first: fc.integer({ min: 1, max: 7 }),
    beam: fc.integer({ min: 2, max: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.nat(),
      sizes,
      fc.integer({ min: 1, max: 9 }),
      async (number, timing, { groupSize, first, beam }, concurrency) => {
        const branching = { ...onEveryRise, firstRollouts: Math.min(first, groupSize), beam };
        const many = ["a", "b"].map((id) => ({ id }));
        let draws = 0;
        const delay = () => (seedOf(timing, draws++) >>> 8) % 3;
        const script = anyScript(number);
        const slow = await rolloutTrees(scripted(script, delay).sampler, chat, drawer({ wait: delay }).environment, many, {
          ...options,
          ...{ groupSize, branching, concurrency },
        });
        const quick = scripted(script);
        const { environment, counts } = drawer();
        const trees = await rolloutTrees(quick.sampler, chat, environment, many, { ...options, groupSize, branching });
        expect(slow).toEqual(trees);
        for (const { trajectories } of trees) {
          expect(trajectories.map(({ id }) => id.split("/").at(-1))).toEqual(
            Array.from({ length: groupSize }, (_, i) => String(i)),
          );
          const byId = new Map(trajectories.map((trajectory) => [trajectory.id, trajectory]));
          for (const { id, turns, branch, reward } of trajectories) {
            expect(reward).toBe(turns.filter(({ toolCalls }) => toolCalls > 0).length);
            for (const [t, turn] of turns.entries()) {
              const before = turns[t - 1];
              expect(turn).toMatchObject({ trajectory: id, turn: t });
              if (before !== undefined)
                expect(turn.context.slice(0, before.context.length + before.action.length)).toEqual([
                  ...before.context,
                  ...before.action,
                ]);
            }
            const parent = byId.get(branch?.from ?? "");
            expect(parent === undefined).toBe(branch === undefined);
            const shared = turns.slice(0, branch?.turn ?? 0).map(({ action, samplerLogprobs }) => [action, samplerLogprobs]);
            expect(
              parent?.turns.slice(0, branch?.turn).map(({ action, samplerLogprobs }) => [action, samplerLogprobs]) ?? [],
            ).toEqual(shared);
          }
          const granted = trajectories
            .flatMap(({ turns, branch }) => turns.slice(branch?.turn ?? 0))
            .reduce((sum, { branching: made }) => sum + (made?.forks ?? 0), 0);
          expect(granted).toBe(trajectories.filter(({ branch }) => branch !== undefined).length);
        }
        // Every row of the sampler's cache is given back, once; so is every episode.
        const released = quick.log.filter((line) => line.startsWith("release"));
        expect(released.sort()).toEqual(
          trees.flatMap(({ trajectories }) => trajectories.map(({ id }) => `release ${id}`)).sort(),
        );
        const forks = trees.flatMap(({ trajectories }) => trajectories).filter(({ branch }) => branch !== undefined).length;
        expect(counts.started).toBe(2 * groupSize - forks);
        expect(counts.closed).toBeGreaterThanOrEqual(2 * groupSize);
      },
    ),
    { numRuns: 60 },
  );
});

test("no more paths run at once than allowed, and a fork keeps what the cache holds of its parent until it has begun", async () => {
  const { sampler, log } = scripted(
    looking(2, (_, turn) => turn / 10),
    () => 1,
  );
  let [flying, most] = [0, 0];
  const counting: Sampler = {
    ...sampler,
    sample: async (request) => {
      most = Math.max(most, ++flying);
      return sampler.sample(request).finally(() => flying--);
    },
  };
  const [{ trajectories }] = await rolloutTrees(counting, chat, drawer().environment, tasks, {
    ...options,
    groupSize: 7,
    concurrency: 2,
  });
  expect(most).toBe(2);
  expect(trajectories.filter(({ branch }) => branch !== undefined).length).toBeGreaterThan(1);
  for (const { id, branch } of trajectories) {
    if (branch === undefined) continue;
    expect(log.indexOf(`sample ${id} ${branch.turn}`)).toBeGreaterThan(0);
    expect(log.indexOf(`release ${branch.from}`)).toBeGreaterThan(log.indexOf(`sample ${id} ${branch.turn}`));
  }
});

test("an environment that cannot copy its episodes is forked by repeating the calls, where it allows that", async () => {
  const { environment, counts } = drawer({ clone: false, replayable: true });
  const cloned = await treeOf(example);
  const replayed = await treeOf(example, {}, environment);
  const without = (leaves: readonly Trajectory[]) =>
    leaves.map(({ branch, ...rest }) => ({ ...rest, branch: branch && { ...branch, by: undefined } }));
  expect(without(replayed)).toEqual(without(cloned));
  expect(replayed.map(({ branch }) => branch?.by)).toEqual([undefined, undefined, "replay", "replay"]);
  // 4 leaves of 3 looks each, all made by their own episode.
  expect(counts).toEqual({ started: 4, looks: 12, closed: 4 });
});

test("an environment that allows neither never branches: its leaves begin at the root", async () => {
  const leaves = await treeOf(example, {}, drawer({ clone: false }).environment);
  expect(shape(leaves)).toEqual(["root", "root", "root", "root"]);
  expect(leaves[0].turns[1].branching).toMatchObject({ branch: true, forks: 0 });
});

test("a replay that goes otherwise than the first time ends that leaf, with the reason, and no other", async () => {
  let started = 0;
  const { environment } = drawer({ clone: false, replayable: true });
  const moody: Environment = {
    ...environment,
    start: async (task, seed) => {
      const episode = await environment.start(task, seed);
      const number = started++;
      const [look] = episode.tools;
      return { ...episode, tools: [{ ...look, execute: async (...args) => (number === 2 ? "nothing" : look.execute(...args)) }] };
    },
  };
  const leaves = await treeOf(example, {}, moody);
  expect(leaves[2]).toMatchObject({ stopReason: "environment-error", reward: 0, error: expect.stringContaining("in turn 0") });
  expect(leaves[2].turns).toHaveLength(1);
  expect(leaves.filter(({ stopReason }) => stopReason === "done")).toHaveLength(3);
});

test.each(["throws", "rejects"])("a copy that %s ends no sibling", async (way) => {
  const { environment } = drawer();
  let copies = 0;
  const failure = new Error("no memory");
  const fragile: Environment = {
    ...environment,
    start: async (task, seed) => {
      const wrap = (episode: Episode): Episode => ({
        ...episode,
        clone: () => {
          const copy = Promise.resolve(episode.clone?.() ?? episode).then(wrap);
          if (copies++ > 0) return copy;
          if (way === "throws") throw failure;
          return Promise.reject(failure);
        },
      });
      return wrap(await environment.start(task, seed));
    },
  };
  const rising = looking(2, (_, turn) => turn / 10);
  const leaves = await treeOf(rising, {}, fragile);
  expect(leaves.map(({ stopReason }) => stopReason)).toEqual(["done", "done", "environment-error", "done"]);
  expect(leaves[2]).toMatchObject({ error: "clone: no memory", reward: 0, branch: { from: "s/0/0", turn: 1 } });
});

test("a branch whose environment fails ends no sibling", async () => {
  const { environment } = drawer();
  const rising = looking(2, (_, turn) => turn / 10);
  const breaking: Environment = {
    ...environment,
    start: async (task, seed) => {
      const episode = await environment.start(task, seed);
      const clone = () => ({ ...(episode.clone?.() ?? episode), score: () => ({ reward: Number.NaN }) });
      return { ...episode, clone };
    },
  };
  const scored = await treeOf(rising, {}, breaking);
  expect(scored.map(({ stopReason }) => stopReason)).toEqual(["done", "done", "invalid-reward", "invalid-reward"]);
});

test("a sampler that fails ends all trees with its error, and nothing is left in its cache", async () => {
  const { sampler, log } = scripted((id, turn) => {
    if (id === "s/0/2") throw new Error("no engine");
    return example(id, turn);
  });
  const many = ["a", "b"].map((id) => ({ id }));
  await expect(rolloutTrees(sampler, chat, drawer().environment, many, options)).rejects.toThrow("no engine");
  const sampled = new Set(log.filter((line) => line.startsWith("sample")).map((line) => line.split(" ")[1]));
  for (const id of sampled) expect(log).toContain(`release ${id}`);
});

test("cancelling gives every leaf, the unfinished ones as cancelled", async () => {
  const controller = new AbortController();
  const { environment } = drawer({ wait: () => 60_000 });
  const pending = treeOf(example, { signal: controller.signal }, environment);
  await vi.waitFor(() => expect(environment).toBeDefined(), 60_000);
  setTimeout(() => controller.abort(), 5);
  expect((await pending).map(({ stopReason }) => stopReason)).toEqual(new Array(4).fill("cancelled"));
});

test("an environment that is defined by its tools and reward is replayed, if its tools allow that", async () => {
  const defined = (allows: { replayable?: boolean; idempotent?: boolean }) =>
    defineEnvironment({
      name: "drawer",
      tasks: { train: [{ prompt: "hi" }] },
      start: () => {
        let looks = 0;
        const execute = () => `look ${++looks}`;
        const look = defineTool({ name: "look", description: "Looks.", parameters: z.object({}), execute, ...allows });
        return { tools: [look], reward: () => looks };
      },
    });
  const grown = async (allows: { replayable?: boolean; idempotent?: boolean }) => {
    const environment = defined(allows);
    const [group] = await rolloutTrees(
      scripted(example).sampler,
      chat,
      environment,
      [await environment.task("train", 0)],
      options,
    );
    return group.trajectories.map(({ branch, reward }) => [branch?.by, reward]);
  };
  const forked = [
    [undefined, 3],
    [undefined, 3],
    ["replay", 3],
    ["replay", 3],
  ];
  expect(await grown({ replayable: true })).toEqual(forked);
  expect(await grown({ idempotent: true })).toEqual(forked);
  expect((await grown({})).map(([by]) => by)).toEqual(new Array(4).fill(undefined));
});

test("with pre-monitoring one rollout is played to its end, and as many begin beside it as its entropies say", async () => {
  const grown = async (before: number, after: number, groupSize = 6) => {
    const script = looking(2, (_, turn) => (turn === 0 ? before : after));
    const { sampler, log } = scripted(script);
    const branching = { ...onEveryRise, firstRollouts: { kind: "pre-monitored" as const, beta: 10 } };
    const [group] = await rolloutTrees(sampler, chat, drawer().environment, tasks, { ...options, groupSize, branching });
    return { shape: shape(group.trajectories), first: log.filter((line) => line.startsWith("sample")).slice(0, 4) };
  };
  // Surer after tools: 6·σ(5) = 5.96, so all six begin at the root. Less sure: 6·σ(−5) = 0.04, so one does, and the others are its forks.
  const [sure, unsure] = [await grown(0.75, 0.25), await grown(0.25, 0.75)];
  expect(sure.shape).toEqual(["root", "root", "root", "root", "root", "root"]);
  expect(sure.first.map((line) => line.split(" ")[1])).toEqual(["s/0/0", "s/0/0", "s/0/0", "s/0/1"]);
  expect(unsure.shape).toEqual(["root", "0@1", "0@2", "1@2", "root", "root"]);
});

test("a first rollout that fails is the error of its tree, with pre-monitoring too", async () => {
  const branching = { ...onEveryRise, firstRollouts: { kind: "pre-monitored" as const, beta: 1 } };
  const failing: Script = () => {
    throw new Error("no sampler");
  };
  await expect(treeOf(failing, { branching })).rejects.toThrow("no sampler");
});
