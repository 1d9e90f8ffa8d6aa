import { expect, test } from "vitest";
import type { Environment, Episode, Reply, Step } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { rollout } from "../../src/rollouts/rollout.ts";
import { testChat } from "../../test/fixtures/chats.ts";
import { scriptedSampler } from "../../test/scripted-sampler.ts";
import { officeWithRoles, shared } from "./office-roles.ts";

const chat = testChat("plain");
const call = (name: string) => `<tool_call>{"name": "${name}", "arguments": {"name": "Ana"}}</tool_call>`;

/** An episode whose model says these, and then goes on with the last. */
async function played(environment: Environment) {
  const texts = [call("find_contact"), call("find_file"), "Done.", call("today"), "Sorry.", "Done."];
  let next = 0;
  const sampler = scriptedSampler(chat.tokenizer, () => texts[next++] ?? "Done.");
  const options = { id: "o/0", group: "o", seed: 3, maxTurns: 12, maxTokens: 400, episodeTimeoutMs: 20_000 };
  return rollout(sampler, chat, environment, await environment.task("train", 0), options);
}

test("planner and doer each read what one agent would have read, and the transcript is that of one", async () => {
  const [apart, one] = [await played(officeWithRoles()), await played(createEnvironment("office", {}))];
  const texts = ({ turns }: typeof one) => turns.map(({ context }) => chat.tokenizer.decode(context.slice()));
  expect(texts(apart)).toEqual(texts(one));
  expect(apart.messages).toEqual(one.messages);
  expect(apart.turns.map(({ role }) => role).slice(0, 5)).toEqual(["planner", "doer", "doer", "planner", "doer"]);
  expect([apart.reward, apart.stopReason, apart.error]).toEqual([one.reward, one.stopReason, undefined]);
  expect(apart.scores).toMatchObject({ "reward:planner": apart.scores.requests, "reward:doer": expect.any(Number) });
});

test("who takes over reads all that it has missed; the planner is paid for requests, the doer for behaviours", async () => {
  const user = (content: string) => ({ role: "user", content }) as const;
  const said = (content: string) => ({ role: "assistant", content }) as const;
  const result = (content: string) => ({ role: "tool", name: "find", content }) as const;
  const steps: (Step | undefined)[] = [undefined, { messages: [user("Note.")] }, { messages: [user("Late.")] }];
  const replies: Reply[] = [{ done: false, messages: [user("Next.")] }, { done: true }];
  let behaviours: object | undefined = { asks: true, guesses: false, books: { done: 1, called: 2 } };
  const closed: string[] = [];
  const episode = shared({
    ...{ messages: [user("Do it.")], tools: [], limits: { turns: 9 } },
    call: () => "called",
    afterTools: () => steps.shift(),
    reply: () => replies.shift() ?? { done: true },
    score: (conversation: readonly object[]) => ({ reward: conversation.length, scores: { requests: 0.5 }, behaviours }),
    close: () => void closed.push("closed"),
  } as unknown as Episode);
  expect(episode).toMatchObject({ role: "planner", messages: [user("Do it.")], limits: { turns: 9 } });
  expect(await episode.call?.({ name: "find", arguments: {} }, { signal: new AbortController().signal })).toBe("called");
  expect(await episode.afterTools?.([result("one")], said("plan"))).toEqual({
    ...{ role: "doer", messages: [user("Do it."), said("plan"), result("one")] },
  });
  // The doer goes on: it is shown what is new to it alone.
  expect(await episode.afterTools?.([result("two")], said("do"))).toEqual({ role: "doer", messages: [user("Note.")] });
  expect(await episode.afterTools?.([], said("more"))).toEqual({ role: "doer", messages: [user("Late.")] });
  expect(await episode.reply(said("done"))).toEqual({
    ...{ done: false, role: "planner" },
    messages: [said("do"), result("two"), user("Note."), said("more"), user("Late."), said("done"), user("Next.")],
  });
  expect(await episode.reply(said("bye"))).toEqual({ done: true });
  const paid = { requests: 0.5, "reward:planner": 0.5, "reward:doer": 2 / 4 };
  expect(await episode.score([])).toEqual({ reward: 11, scores: paid, behaviours });
  behaviours = undefined;
  expect(await episode.score([])).toMatchObject({ scores: { "reward:planner": 0.5, "reward:doer": 1 } });
  await episode.close?.();
  expect(closed).toEqual(["closed"]);
});

test("the office's roles and their scores", async () => {
  const environment = officeWithRoles();
  expect([environment.name, environment.roles, environment.metrics]).toEqual([
    ...["office-roles", ["planner", "doer"], ["reward:planner", "reward:doer"]],
  ]);
  const office = createEnvironment("office", {});
  expect(await environment.size("test")).toBe(await office.size("test"));
  expect((await environment.task("test", 3)).id).toBe((await office.task("test", 3)).id);
});
