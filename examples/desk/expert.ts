interface Request {
  messages: { role: string; content: string }[];
}
const call = (name: string, order: string) => ({ tool_calls: [{ function: { name, arguments: { order } } }] });

/** The desk as a script would work it: a teacher that costs nothing. It reads what a model would read, and answers as a model would. */
export default ({ messages }: Request) => {
  const [order = ""] = /[A-Z]\d{3}/.exec(messages.find(({ role }) => role === "user")?.content ?? "") ?? [];
  const results = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
  const [found] = results;
  if (found === undefined) return call("lookup", order);
  if (results.length > 1) return { content: "It is done." };
  const { days, status } = JSON.parse(found);
  if (status === "shipping") return { content: "Please wait, it is on its way." };
  return call(status === "lost" ? "resend" : days > 30 ? "escalate" : "refund", order);
};
