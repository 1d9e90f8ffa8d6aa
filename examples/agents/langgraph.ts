import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const calendar = [{ title: "Demo", day: "Friday", time: "14:30" }];
const findEvent = tool(async ({ title }) => JSON.stringify(calendar.filter((event) => event.title === title)), {
  name: "find_event",
  description: "Finds an event by its title.",
  schema: z.object({ title: z.string() }),
});

export default createReactAgent({ llm: new ChatOpenAI({ model: "gpt-5-mini" }), tools: [findEvent] });
