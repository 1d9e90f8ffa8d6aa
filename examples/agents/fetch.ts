export default async (prompt: string) => {
  const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "gpt-5-mini", messages: [{ role: "user", content: `${prompt} Answer as JSON.` }] });
  const response = await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, { method: "POST", headers, body });
  const { choices } = await response.json();
  return choices[0].message.content;
};
