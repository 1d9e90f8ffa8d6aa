/**
 * Episodes of the embedded environment for a peer, a line of JSON for each question:
 * {"task": index} → the task's first messages and its tools; {"start": id, "task": index}; {"call": id, "name", "arguments"} → the answer
 * that the model reads; {"end": id, "content"} → the reward of the episode that this last message ends.
 */
import { createInterface } from "node:readline";
import type { Episode } from "../../../src/environments/environment.ts";
import { callTool } from "../../../src/rollouts/call-tool.ts";
import { parametersAsJsonSchema } from "../../../src/tools/tool.ts";
import { oneRequestOffice } from "../office.ts";

interface Question {
  readonly task: number;
  readonly start?: string;
  readonly call?: string;
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly end?: string;
  readonly content: string;
}

const office = oneRequestOffice();
const episodes = new Map<string, Episode>();

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await answerTo(JSON.parse(line))));

async function answerTo(question: Question): Promise<unknown> {
  if (question.call !== undefined) {
    const { tools } = episodeOf(question.call);
    return (await callTool(tools, { name: question.name, arguments: question.arguments })).content;
  }
  if (question.end !== undefined) {
    const message = { role: "assistant", content: question.content } as const;
    const episode = episodeOf(question.end);
    await episode.reply(message);
    return (await episode.score([message])).reward;
  }
  const episode = await office.start(await office.task("train", question.task), 0);
  if (question.start !== undefined) episodes.set(question.start, episode);
  const tools = episode.tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    parameters: parametersAsJsonSchema(tool),
  }));
  return { messages: episode.messages, tools };
}

function episodeOf(id: string): Episode {
  const episode = episodes.get(id);
  if (episode === undefined) throw new Error(`No episode ${id} was started.`);
  return episode;
}
