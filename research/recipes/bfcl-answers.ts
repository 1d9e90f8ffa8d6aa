import { z } from "zod";
import type { ToolCall } from "../../src/core/messages.ts";
import { parametersAsJsonSchema, type Tool } from "../../src/tools/tool.ts";
import type { bfclEnvironment } from "../bfcl/bfcl.ts";
import type { Evaluator } from "../bfcl/evaluator/evaluator.ts";

type World = Pick<ReturnType<typeof bfclEnvironment>, "task" | "start">;
type Reader = Pick<Evaluator, "judge">;

const signal = new AbortController().signal;
const parametersSchema = z.object({ properties: z.record(z.string(), z.unknown()).default({}) });
const callSchema = z.strictObject({ name: z.string(), arguments: z.string() });
const done = { role: "assistant", content: "Done." } as const;

/** Plays the published answers of the first training tasks. @returns the conversations of those that pass, as lines of JSON */
export async function passingAnswers(environment: World, size: number, evaluator: Reader): Promise<string[]> {
  const lines: string[] = [];
  for (let i = 0; i < size; i++) {
    const task = await environment.task("train", i);
    const episode = await environment.start(task, 0);
    const messages: object[] = [...episode.messages];
    for (const texts of task.groundTruth) {
      for (const text of texts) {
        const call = await callOf(evaluator, text, episode.tools);
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
  return lines;
}

/** @returns the call of a published text, whose positional arguments get the names of the tool's parameters */
async function callOf(
  evaluator: Reader,
  text: string,
  tools: readonly Tool[],
): Promise<ToolCall & { readonly argumentsText: string }> {
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
