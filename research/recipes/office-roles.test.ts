import { expect, test } from "vitest";
import type { Environment } from "../../src/environments/environment.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { rollout } from "../../src/rollouts/rollout.ts";
import { testChat } from "../../test/fixtures/chats.ts";
import { scriptedSampler } from "../../test/scripted-sampler.ts";
import { officeWithRoles } from "./office-roles.ts";

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
