/**
 * Plays the published answers of BFCL's split `train` and writes those that pass as conversations for `retrograde-rl sft`:
 * docs/environments/bfcl.md.
 *
 *     npx jiti research/recipes/bfcl.ts answers.jsonl [FOLDER]
 */
import { writeFileSync } from "node:fs";
import { z } from "zod";
import type { ToolCall } from "../../src/core/messages.ts";
import { parametersAsJsonSchema, type Tool } from "../../src/tools/tool.ts";
import { bfclEnvironment } from "../bfcl/bfcl.ts";
import { openEvaluator, pythonOf } from "../bfcl/evaluator/evaluator.ts";

const signal = new AbortController().signal;
const parametersSchema = z.object({ properties: z.record(z.string(), z.unknown()).default({}) });
const callSchema = z.strictObject({ name: z.string(), arguments: z.string() });
const done = { role: "assistant", content: "Done." } as const;

const [out = "", data] = process.argv.slice(2);
const evaluator = openEvaluator(pythonOf(undefined));
const environment = bfclEnvironment(data === undefined ? {} : { data });
const size = await environment.size("train");
const lines: string[] = [];
for (let i = 0; i < size; i++) {
  const task = await environment.task("train", i);
  const episode = await environment.start(task, 0);
  const messages: object[] = [...episode.messages];
  for (const texts of task.groundTruth) {
    for (const text of texts) {
      const call = await callOf(text, episode.tools);
      const answer = await episode.call?.(call, { signal });
      await episode.afterTools?.([], { ...done, toolCalls: [call] });
      const [id, content] = [`call_${messages.length}`, typeof answer === "string" ? answer : (answer?.content ?? "")];
      const asked = { id, type: "function", function: { name: call.name, arguments: call.argumentsText } };
      messages.push({ role: "assistant", content: "", tool_calls: [asked] }, { role: "tool", tool_call_id: id, content });
    }
    const reply = await episode.reply(done);
    messages.push(done, ...(reply.done ? [] : (reply.messages ?? [])));
  }
  const { scores } = await episode.score([]);
  await episode.close?.();
  if (scores?.success === 1) lines.push(JSON.stringify({ messages, tools: episode.tools.map(toolOf) }));
}
await Promise.all([evaluator.close(), environment.close?.()]);
writeFileSync(out, `${lines.join("\n")}\n`);
console.log(`${lines.length} of ${size} published answers pass`);

/** @returns the call of a published text, whose positional arguments get the names of the tool's parameters */
async function callOf(text: string, tools: readonly Tool[]): Promise<ToolCall & { readonly argumentsText: string }> {
  const parameters = Object.fromEntries(
    tools.map((tool) => [tool.name, Object.keys(parametersSchema.parse(parametersAsJsonSchema(tool)).properties)]),
  );
  const { name, arguments: argumentsText } = callSchema.parse(await evaluator.judge({ op: "read", text, parameters }));
  return { name, arguments: JSON.parse(argumentsText), argumentsText };
}

function toolOf(tool: Tool): object {
  const { name, description } = tool;
  return { type: "function", function: { name, description, parameters: parametersAsJsonSchema(tool) } };
}
