import { z } from "zod";
import { jsonOf } from "../../src/core/json.ts";
import type { ToolCall } from "../../src/core/messages.ts";
import type { Environment, Episode } from "../../src/environments/environment.ts";

const taskSchema = z.object({
  misc: z.object({
    target_items: z.record(z.string(), z.int()),
    gold_trajectory: z.array(
      z.object({ ingredients: z.record(z.string(), z.int()), target: z.tuple([z.string(), z.int()]), result_count: z.int() }),
    ),
  }),
});
type Gold = z.output<typeof taskSchema>["misc"];

const done = { role: "assistant", content: "Crafted." } as const;
const signal = new AbortController().signal;

/** The golds of a file of TextCraft, one a line. @param most the first ones alone */
export function goldsIn(text: string, most?: number): Gold[] {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.slice(0, most).map((line) => taskSchema.parse(jsonOf(line)).misc);
}

/** Plays golds, each in the training task of its number. @returns the conversations of those that earn the reward, as lines of JSON */
export async function conversationsOf(environment: Environment, golds: readonly Gold[]): Promise<string[]> {
  const lines: string[] = [];
  for (const [i, gold] of golds.entries()) {
    const episode = await environment.start(await environment.task("train", i), 0);
    const messages: object[] = [...episode.messages];
    for (const call of callsOf(gold)) messages.push(...(await turn(episode, call, `call_${messages.length}`)));
    await episode.reply(done);
    const { reward } = await episode.score([]);
    await episode.close?.();
    if (reward === 1) lines.push(JSON.stringify({ messages: [...messages, done] }));
  }
  return lines;
}

/** @returns the calls of an agent that looks before it crafts: recipes from a target down to what it is made of, then the gold's crafts up to it */
function* callsOf(gold: Gold): Generator<ToolCall> {
  yield { name: "view_inventory", arguments: {} };
  const known = new Set<string>();
  let chain: Gold["gold_trajectory"] = [];
  for (const step of gold.gold_trajectory) {
    chain = [...chain, step];
    if (!(step.target[0] in gold.target_items)) continue;
    for (const { target } of chain.toReversed()) {
      if (known.has(target[0])) continue;
      known.add(target[0]);
      yield { name: "get_info", arguments: { items: [target[0]] } };
    }
    for (const { ingredients, target, result_count: count } of chain)
      yield { name: "craft", arguments: { ingredients, target: [target[0], count] } };
    chain = [];
  }
}

/** @returns the call and its result, in the OpenAI chat format */
async function turn(episode: Episode, call: ToolCall, id: string): Promise<object[]> {
  const answer = await episode.call?.(call, { signal });
  const content = typeof answer === "string" ? answer : (answer?.content ?? "");
  const asked = { id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.arguments) } };
  return [
    { role: "assistant", content: "", tool_calls: [asked] },
    { role: "tool", tool_call_id: id, content },
  ];
}
