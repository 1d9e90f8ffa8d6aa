import { GoogleGenAI, Type } from "@google/genai";

const calendar = [{ title: "Demo", day: "Friday", time: "14:30" }];
const parameters = { type: Type.OBJECT, properties: { title: { type: Type.STRING } }, required: ["title"] };
const functionDeclarations = [{ name: "find_event", description: "Finds an event by its title.", parameters }];
const client = new GoogleGenAI({});

export default async (prompt: string) => {
  const chat = client.chats.create({ model: "gemini-3-flash", config: { tools: [{ functionDeclarations }] } });
  let response = await chat.sendMessage({ message: prompt });
  while (response.functionCalls) {
    const message = response.functionCalls.map(({ id, name, args }) => {
      const output = calendar.filter((event) => event.title === args?.title);
      return { functionResponse: { id, name, response: { output } } };
    });
    response = await chat.sendMessage({ message });
  }
  return response.text;
};
