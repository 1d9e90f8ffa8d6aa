import Anthropic from "@anthropic-ai/sdk";

const calendar = [{ title: "Demo", day: "Friday", time: "14:30" }];
const input_schema = { type: "object" as const, properties: { title: { type: "string" } }, required: ["title"] };
const tools = [{ name: "find_event", description: "Finds an event by its title.", input_schema }];
const client = new Anthropic();

export default async (prompt: string) => {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: prompt }];
  for (;;) {
    const { content } = await client.messages.create({ model: "claude-haiku-4-5", max_tokens: 256, messages, tools });
    messages.push({ role: "assistant", content });
    const uses = content.filter((block) => block.type === "tool_use");
    if (uses.length === 0) return content.map((block) => (block.type === "text" ? block.text : "")).join("");
    const found = ({ title }: { title?: string }) => JSON.stringify(calendar.filter((event) => event.title === title));
    const results = uses.map(({ id, input }) => ({
      type: "tool_result" as const,
      tool_use_id: id,
      content: found(input as object),
    }));
    messages.push({ role: "user", content: results });
  }
};
