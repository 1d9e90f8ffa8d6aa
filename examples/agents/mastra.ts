import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const calendar = [{ title: "Demo", day: "Friday", time: "14:30" }];
const find_event = createTool({
  id: "find_event",
  description: "Finds an event by its title.",
  inputSchema: z.object({ title: z.string() }),
  execute: async ({ title }) => calendar.filter((event) => event.title === title),
});

export default new Agent({
  id: "calendar",
  name: "calendar",
  instructions: "You know the calendar.",
  model: { id: "openai/gpt-5-mini", url: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY },
  tools: { find_event },
});
