/**
 * Plays the gold trajectories of TextCraft (the Python package `platoon-textcraft`) on its own server and writes those that earn the reward as
 * conversations for `retrograde sft`: docs/environments/published-tasks.md.
 *
 *     npx jiti recipes/textcraft.ts ors:http://127.0.0.1:8080 textcraft_train.jsonl golds.jsonl
 */
import "../extensions/install.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import type { Episode } from "../src/environments/environment.ts";
import { createEnvironment } from "../src/environments/registry.ts";

const taskSchema = z.object({
  misc: z.object({
    gold_trajectory: z.array(
      z.object({ ingredients: z.record(z.string(), z.int()), target: z.tuple([z.string(), z.int()]), result_count: z.int() }),
    ),
  }),
});
type Step = z.output<typeof taskSchema>["misc"]["gold_trajectory"][number];

const signal = new AbortController().signal;
const [name = "", file = "", out = "", limit] = process.argv.slice(2);
const environment = createEnvironment(name, {});
const golds = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .slice(0, limit === undefined ? undefined : Number(limit))
  .map((line) => taskSchema.parse(JSON.parse(line)).misc.gold_trajectory);
const lines: string[] = [];
for (const [i, steps] of golds.entries()) {
  const episode = await environment.start(await environment.task("train", i), 0);
  const messages = await play(episode, steps);
  await episode.reply({ role: "assistant", content: "Crafted." });
  const { reward } = await episode.score([]);
  await episode.close?.();
  if (reward === 1) lines.push(JSON.stringify({ messages: [...messages, { role: "assistant", content: "Crafted." }] }));
}
writeFileSync(out, `${lines.join("\n")}\n`);
await environment.close?.();
console.log(`${lines.length} of ${golds.length} golds earn the reward`);

/** @returns the conversation up to the last result, in the OpenAI chat format */
async function play(episode: Episode, steps: readonly Step[]): Promise<object[]> {
  const messages: object[] = [...episode.messages];
  for (const [i, { ingredients, target, result_count: count }] of steps.entries()) {
    const call = { name: "craft", arguments: { ingredients, target: [target[0], count] } };
    const answer = await episode.call?.(call, { signal });
    const content = typeof answer === "string" ? answer : (answer?.content ?? "");
    const asked = { id: `call_${i}`, type: "function", function: { ...call, arguments: JSON.stringify(call.arguments) } };
    messages.push({ role: "assistant", content: "", tool_calls: [asked] }, { role: "tool", tool_call_id: `call_${i}`, content });
  }
  return messages;
}
