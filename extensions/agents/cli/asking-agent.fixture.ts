/** A module of an agent that says what its model says. */
export const askingAgent = `export default async (prompt, { baseUrl }) => {
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }] });
    return JSON.parse(await (await fetch(baseUrl + "/chat/completions", { method: "POST", body })).text()).choices[0].message.content;
  };`;
