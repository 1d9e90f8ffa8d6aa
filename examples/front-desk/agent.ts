import { readFileSync } from "node:fs";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

interface Office {
  contacts: { id: string; name: string; deputy?: string }[];
  events: { id: string; title: string; day: string; time: string; status: string }[];
}
const { contacts, events }: Office = JSON.parse(readFileSync(new URL("office.json", import.meta.url), "utf8"));

/** An office assistant of the AI SDK, as one would write it for any model. It returns its answer and what it did. */
export default async (prompt: string) => {
  const done: string[] = [];
  const did = (deed: string) => {
    done.push(deed);
    return "ok";
  };
  const tools = {
    find_contact: tool({
      description: "People with this name. A deputy reads the messages of somebody who is away.",
      inputSchema: z.object({ name: z.string() }),
      execute: async ({ name }) => contacts.filter((contact) => contact.name === name),
    }),
    send_message: tool({
      description: "Sends a message to a contact.",
      inputSchema: z.object({ id: z.string(), text: z.string() }),
      execute: async ({ id, text }) => did(`message ${id} ${text}`),
    }),
    find_event: tool({
      description: "Events with this title. An open event may still move.",
      inputSchema: z.object({ title: z.string() }),
      execute: async ({ title }) => events.filter((event) => event.title === title).map(({ title: _, ...event }) => event),
    }),
    book_room: tool({
      description: "Books a room for an event. With a fixed room the event cannot move; a flex one costs more.",
      inputSchema: z.object({ id: z.string(), rate: z.enum(["flex", "fixed"]) }),
      execute: async ({ id, rate }) => did(`room ${id} ${rate}`),
    }),
  };
  const system = "You are an office assistant.";
  const { textStream } = streamText({ model: "openai/gpt-5-mini", system, prompt, tools, stopWhen: stepCountIs(6) });
  let text = "";
  for await (const part of textStream) text += part; // here a user would read along
  return { text, done };
};
