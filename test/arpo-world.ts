import { z } from "zod";
import { type Chat, makeChat } from "../src/chat/chat.ts";
import { makeTokenizer } from "../src/chat/tokenizer.ts";
import { seedOf } from "../src/core/random.ts";
import type { Environment, Episode, Task } from "../src/environments/environment.ts";
import { defineTool } from "../src/tools/tool.ts";
import { lettersTokenizer } from "./letters.ts";

/** The chat of letters, in which most messages are a call of the tool "look", whatever they say. So a random model calls tools. */
export function lookingChat(): Chat {
  const chat = makeChat(makeTokenizer(lettersTokenizer));
  return {
    ...chat,
    actionText: (action) => {
      const text = chat.actionText(action);
      return text.length % 4 !== 0 ? '<tool_call>{"name": "look", "arguments": {}}</tool_call>' : text;
    },
  };
}

/** A look shows letters, which depend on how many there were before; the reward is the share of b in what was said. */
export function lookingEnvironment(milliseconds?: number): Environment<Task> {
  const episodeFrom = (task: Task, looked: number): Episode => {
    let looks = looked;
    const look = defineTool({
      name: "look",
      description: "Looks.",
      parameters: z.object({}),
      replayable: true,
      execute: async () => {
        if (milliseconds !== undefined) await new Promise((resolve) => setTimeout(resolve, milliseconds));
        const number = seedOf(1, task.id, looks++) >>> 0;
        return [..."abcs"].map((_, i) => "abcs"[(number >>> (2 * i)) & 3]).join("");
      },
    });
    return {
      messages: [{ role: "user", content: "abcab" }],
      tools: [look],
      reply: () => ({ done: true }),
      score: (conversation) => {
        const said = conversation.flatMap(({ role, content }) => (role === "assistant" ? [...content] : []));
        return { reward: said.length === 0 ? looks / 10 : said.filter((letter) => letter === "b").length / said.length };
      },
      clone: () => episodeFrom(task, looks),
    };
  };
  return {
    name: "looking",
    size: () => Number.POSITIVE_INFINITY,
    task: (split, index) => ({ id: `${split}/${index}` }),
    start: (task) => episodeFrom(task, 0),
    replayable: true,
  };
}
