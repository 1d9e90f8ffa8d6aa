import OpenAI from "openai";

const calendar = [{ title: "Demo", day: "Friday", time: "14:30" }];
const parameters = { type: "object", properties: { title: { type: "string" } }, required: ["title"] };
const tools = [
  { type: "function", name: "find_event", description: "Finds an event by its title.", parameters, strict: false },
] as const;
const client = new OpenAI();

export default async (prompt: string) => {
  let response = await client.responses.create({ model: "gpt-5-mini", input: prompt, tools: [...tools] });
  for (;;) {
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return response.output_text;
    const input = calls.map(({ call_id, arguments: text }) => {
      const { title } = JSON.parse(text);
      const output = JSON.stringify(calendar.filter((event) => event.title === title));
      return { type: "function_call_output" as const, call_id, output };
    });
    response = await client.responses.create({
      model: "gpt-5-mini",
      previous_response_id: response.id,
      input,
      tools: [...tools],
    });
  }
};
