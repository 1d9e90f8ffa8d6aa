import "../../test/loopback.ts";
import { expect, test } from "vitest";
import type { AgentRun } from "../agents/train-agent.ts";
import { checkAgent } from "./agent-check.ts";

const tool = {
  type: "function",
  function: { name: "find", parameters: { type: "object", properties: { what: { type: "string" } } } },
};
/** Says what its model says at last, in at most three requests, with a system message. */
const agentWith =
  (tools: readonly object[], system = "You know.") =>
  async (prompt: string, { baseUrl, apiKey }: AgentRun) => {
    const messages: object[] = [
      { role: "system", content: system },
      { role: "user", content: prompt },
    ];
    for (let turn = 0; turn < 3; turn++) {
      const headers = { authorization: `Bearer ${apiKey}` };
      const body = JSON.stringify({ model: "m", messages, ...(tools.length === 0 ? {} : { tools }) });
      const response = await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body });
      const { message } = JSON.parse(await response.text()).choices[0];
      if (message.tool_calls === undefined) return message.content as string;
      messages.push(message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: "ok" });
    }
    return "";
  };
const exact = ({ task, answer }: { task: { answer?: string }; answer: unknown }) => Number(answer === task.answer);

test("a report of an agent without tools, whole", async () => {
  const tasks = [
    { prompt: "Is it open or shut?", answer: "open" },
    { prompt: "Say shut.", answer: "shut" },
    { prompt: "Is it on?", answer: "open" },
  ];
  const heard: string[] = [];
  const report = await checkAgent({ agent: agentWith([]), tasks, reward: exact, onProgress: (policy) => heard.push(policy) });
  const played = (policy: string, solved: number, example?: string) => ({
    ...{ policy, tasks: 3, success: solved / 3, reward: solved / 3 },
    ...(example === undefined ? {} : { example }),
  });
  expect(report).toEqual({
    ...{ tasks: 3, tools: [], errors: {}, equalPrompts: [], asks: { requests: 1, tokens: expect.any(Number) } },
    policies: [
      ...[played("says nothing", 0), played('says "Done."', 0), played("repeats the prompt", 0), played("declines", 0)],
      ...[played('says "open"', 2, "Is it open or shut?"), played("lists every answer of the file", 0)],
    ],
    solvedBy: { none: 1, some: 2, all: 0 },
    leaks: [{ field: "answer", tasks: 2, example: "Is it open or shut?" }],
    findings: [
      'A policy that says "open" solves 2 of 3 tasks, such as "Is it open or shut?". That is the floor: only more than it is learned.',
      'In 2 of 3 tasks the answer is in what the model is shown: `answer`, as in "Is it open or shut?".',
    ],
  });
  // Each policy, then the field of the answers.
  expect(heard).toEqual([...report.policies.map(({ policy }) => policy), "says the task's answer"]);
});

test.each([
  ["It is B1.", "B1", 1],
  ["it is b1", "B1", 1],
  ["(B1)", "B1", 1],
  ["B12", "B1", 0],
  ["AB1", "B1", 0],
  ["éB1", "B1", 0],
  ["B1é", "B1", 0],
  ["It is", "B1", 0],
])("in the prompt %j the answer %j is a leak of %d tasks", async (prompt, answer, tasks) => {
  const { leaks } = await checkAgent({ agent: agentWith([]), tasks: [{ prompt, answer }], reward: exact });
  expect(leaks.map((leak) => leak.tasks)).toEqual(tasks === 0 ? [] : [tasks]);
});

test("what the agent adds to the prompt is what the model is shown, and tokens count it with the tools", async () => {
  const tasks = [{ prompt: "Which?", answer: "seven" }];
  const bare = await checkAgent({ agent: agentWith([tool]), tasks, reward: exact });
  const leaking = await checkAgent({ agent: agentWith([tool], "The word is seven."), tasks, reward: exact });
  expect([bare.leaks, leaking.leaks]).toEqual([[], [{ field: "answer", tasks: 1, example: "Which?" }]]);
  expect(bare.tools).toEqual(["find"]);
  // "calls find" and "calls random tools" ask twice or once; the longest has a call and its result.
  expect(bare.asks.requests).toBeGreaterThan(1);
  const messages = [
    { role: "system", content: "You know." },
    { role: "user", content: "Which?" },
  ];
  const shown = [["find", "", tool.function.parameters]];
  const first = Math.ceil((JSON.stringify(messages).length + JSON.stringify(shown).length) / 3.5);
  expect(bare.asks.tokens).toBeGreaterThan(first);
  expect(leaking.asks.tokens - bare.asks.tokens).toBeGreaterThanOrEqual(2);
});

test("a policy that calls or guesses is a hole above a twentieth of the tasks, and a silent one at once", async () => {
  const tasks = Array.from({ length: 20 }, (_, i) => ({ prompt: `Question ${i}.`, i }));
  const findings = async (paid: (answer: unknown, i: number) => boolean) => {
    const reward = ({ task, answer }: { task: { i: number }; answer: unknown }) => Number(paid(answer, task.i));
    const report = await checkAgent({ agent: agentWith([tool]), tasks, reward });
    return report.findings.map((finding) => finding.split(" tasks,")[0]);
  };
  expect(await findings((answer, i) => answer === "Done." && i < 1)).toEqual(['A policy that says "Done." solves 1 of 20']);
  const called = await findings((answer, i) => answer === "Done." && i < 2);
  expect(called).toContain('A policy that calls find, says "Done." solves 2 of 20');
});

test("a request that is refused is the agent's error, with the reason", async () => {
  const agent = async (prompt: string, { baseUrl, apiKey }: AgentRun) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }], strange: 1 });
    await (await fetch(`${baseUrl}/chat/completions`, { method: "POST", headers, body })).text();
    return "";
  };
  const { errors } = await checkAgent({ agent, tasks: [{ prompt: "a" }], reward: () => 0 });
  expect(errors).toEqual({
    "a request of the agent was refused: strange is 1; expected a field that this endpoint has. Leave it out of the request.": 1,
  });
});
