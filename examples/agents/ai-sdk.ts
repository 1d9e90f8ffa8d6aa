import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const calendar = [{ title: "Demo", day: "Friday", time: "14:30" }];
const find_event = tool({
  description: "Finds an event by its title.",
  inputSchema: z.object({ title: z.string() }),
  execute: async ({ title }) => calendar.filter((event) => event.title === title),
});

export default async (prompt: string) => {
  const { text } = await generateText({ model: "openai/gpt-5-mini", prompt, tools: { find_event }, stopWhen: stepCountIs(5) });
  return text;
};
