import { expect, test } from "vitest";
import { EpisodeStop } from "../core/episode-stop.ts";
import type { Message } from "../core/messages.ts";
import type { Turn } from "../core/trajectory.ts";
import type { Tool } from "../tools/tool.ts";
import type { Act, Actor } from "./actors/actor.ts";
import type { OpenEpisode } from "./answers.ts";
import { Seats, withRoleReturns } from "./seats.ts";

const user = (content: string): Message => ({ role: "user", content });
const tool = (name: string): Tool => ({
  name,
  description: "",
  parameters: { type: "object", properties: {} },
  execute: () => "",
});
const options = { id: "r/0", group: "r", seed: 1, maxTurns: 9, maxTokens: 9, episodeTimeoutMs: 1000 };

/** Seats on an actor that notes what it is asked. */
function seated(roles: readonly string[], draws?: { readonly id: string; readonly group: string }) {
  const log: unknown[] = [];
  const released: string[] = [];
  const actor: Actor = {
    begin: ({ episode, tools }, own) => {
      log.push(["begins", own.id, own.draws, episode.messages.map(({ content }) => content), tools.map(({ name }) => name)]);
      return {
        act: async (live, turns, messages) => {
          log.push(["acts", own.id, live.tools.map(({ name }) => name), turns.length, messages.map(({ content }) => content)]);
          return undefined;
        },
        observe: (act, answers, tools) => {
          log.push(["hears", own.id, act, answers.map(({ content }) => content), tools.map(({ name }) => name)]);
        },
        retract: () => {},
      };
    },
    release: (id) => released.push(id),
  };
  const live = (role?: string): OpenEpisode => ({ episode: { role, tools: [tool("a")] } as never, tools: [tool("a")] });
  return { seats: new Seats(actor, roles, { ...options, ...(draws && { draws }) }), log, released, live };
}
const act = "an act" as never as Act;
const answers = (messages: readonly Message[], more: object = {}) => ({
  messages,
  done: false,
  tools: [tool("a")],
  reward: undefined,
  ...more,
});

test("without roles there is one seat, which hears the answers to its action when it acts again", async () => {
  const { seats, log, released, live } = seated([]);
  const seat = seats.first(live(), [user("hi")]);
  await seats.act(seat, []);
  const next = seats.after(seat, act, answers([user("found"), user("more")], { tools: [tool("b")] }), 1);
  expect(next).toBe(seat);
  await seats.act(next, [{} as Turn]);
  await seats.act(next, [{} as Turn]); // nothing is new
  expect(log).toEqual([
    ["begins", "r/0", undefined, ["hi"], ["a"]],
    ["acts", "r/0", ["a"], 0, ["hi"]],
    ["hears", "r/0", act, ["found", "more"], ["b"]],
    ["acts", "r/0", ["b"], 1, ["hi", "found", "more"]],
    ["acts", "r/0", ["b"], 1, ["hi", "found", "more"]],
  ]);
  seats.release();
  expect(released).toEqual(["r/0"]);
});

test("a role has a conversation, an id and draws of its own; tools' answers are the acting one's, the rest the next one's", async () => {
  const { seats, log, released, live } = seated(["buyer", "seller"], { id: "d/0", group: "d" });
  const buyer = seats.first(live("buyer"), [user("buy")]);
  const seller = seats.after(
    buyer,
    act,
    answers([user("price"), user("offer")], { next: { role: "seller", tools: [tool("s")] } }),
    1,
  );
  expect([buyer.conversation, seller.conversation].map((all) => all.map(({ content }) => content))).toEqual([
    ["buy", "price"],
    ["offer"],
  ]);
  const back = seats.after(seller, act, answers([user("counter")], { next: { role: "buyer", tools: undefined } }), 0);
  expect(back).toBe(buyer);
  await seats.act(back, []);
  expect(log).toEqual([
    ["begins", "r/0/buyer", { id: "d/0/buyer", group: "d" }, ["buy"], ["a"]],
    ["begins", "r/0/seller", { id: "d/0/seller", group: "d" }, ["offer"], ["s"]],
    ["hears", "r/0/buyer", act, ["price", "counter"], ["a"]],
    ["acts", "r/0/buyer", ["a"], 0, ["buy", "price", "counter"]],
  ]);
  const undrawn = seated(["buyer", "seller"]);
  undrawn.seats.first(undrawn.live("seller"), [user("sell")]);
  expect(undrawn.log).toEqual([["begins", "r/0/seller", { id: "r/0/seller", group: "r" }, ["sell"], ["a"]]]);
  seats.release();
  expect(released).toEqual(["r/0", "r/0/buyer", "r/0/seller"]);
});

test("a role that the environment has not, or one without a message to read, ends the episode with what was expected", () => {
  const stopOf = (roles: readonly string[], role: string | undefined, messages: readonly Message[] = [user("hi")]) => {
    const { seats, live } = seated(roles);
    try {
      seats.first(live(role), messages);
    } catch (error) {
      expect(error).toBeInstanceOf(EpisodeStop);
      return `${(error as EpisodeStop).reason}: ${(error as Error).message}`;
    }
    return "seated";
  };
  expect([
    stopOf([], undefined),
    stopOf(["a", "b"], "b"),
    stopOf([], "a"),
    stopOf(["a", "b"], "c"),
    stopOf(["a", "b"], undefined),
    stopOf(["a", "b"], "a", []),
  ]).toEqual([
    ...["seated", "seated"],
    'environment-error: role "a" acts next; expected none: the environment has no roles',
    'environment-error: role "c" acts next; expected a or b',
    "environment-error: no role acts first; expected a or b",
    'environment-error: role "a" acts next and has nothing to read: give it messages',
  ]);
});

test("a role's return is its score and the rewards of its own turns", () => {
  const turn = (role: string, reward?: number) => ({ role, ...(reward === undefined ? {} : { reward }) }) as Turn;
  const scores = { "reward:a": 1, "reward:b": 2, other: 3 };
  expect(withRoleReturns(["a", "b"], scores, [turn("a", 0.5), turn("b"), turn("a", 0.25), turn("b", 4)])).toEqual({
    ...{ "reward:a": 1.75, "reward:b": 6, other: 3 },
  });
  expect(withRoleReturns([], scores, [turn("a", 5)])).toEqual(scores);
  expect(() => withRoleReturns(["a", "c"], scores, [])).toThrow(
    new EpisodeStop("environment-error", "score gave no reward:c: every role has a reward of its own"),
  );
});
