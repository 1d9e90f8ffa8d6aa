import { Agent, tool } from "@openai/agents";
import { z } from "zod";

const events = [{ title: "Demo", day: "Friday", time: "14:30" }];
const findEvent = tool({
  name: "find_event",
  description: "Finds an event by its title.",
  parameters: z.object({ title: z.string() }),
  execute: async ({ title }) => events.filter((event) => event.title === title),
});
const calendar = new Agent({ name: "Calendar", instructions: "You know the calendar.", tools: [findEvent] });
const triage = Agent.create({ name: "Triage", instructions: "You are triage. Hand over.", handoffs: [calendar] });

export default triage;
