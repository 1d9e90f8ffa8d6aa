// One agent of each framework, as its documentation writes it, for test/agent-sdks.contract.test.ts. The test copies this file into the folder where
// .ci/agent-sdks installed the packages. Each gets an address, a key and a model's name; `find(title)` is the tool's body.
import { z } from "zod";

const question = "When do I have Demo?";
const two = "When do I have Demo and Fair?";
const asJson = "When do I have Demo? Answer as JSON.";
const hello = "Say hello.";
const description = "Finds an event by its title.";
const titled = z.object({ title: z.string() });
const when = z.object({ day: z.string(), time: z.string() });
/** Counts parts of a call's arguments that come while the model still writes. */
const counted = async (parts, isSampling, isPart) => {
  let count = 0;
  for await (const part of parts) if (isPart(part) && isSampling()) count++;
  return `${count} parts`;
};
const plain = (schema) => {
  const { $schema, ...rest } = z.toJSONSchema(schema);
  return rest;
};

// ---- AI SDK: three providers, two majors.
async function aiSdk(sdk, modelOf) {
  const { generateText, streamText, tool, stepCountIs, Output, ToolLoopAgent } = await import(sdk);
  const loop = (m, find) => new ToolLoopAgent(options(m, find, {}));
  const options = (model, find, more) => ({
    model: modelOf(model),
    maxRetries: 0,
    stopWhen: stepCountIs(4),
    tools: { find_event: tool({ description, inputSchema: titled, execute: async ({ title }) => find(title) }) },
    ...more,
  });
  return {
    generate: async (m, find) => (await loop(m, find).generate({ prompt: question })).text,
    stream: async (m, find) => {
      const parts = [];
      for await (const part of (await loop(m, find).stream({ prompt: question })).textStream) parts.push(part);
      if (parts.length < 3) throw new Error(`${parts.length} parts`);
      return parts.join("");
    },
    deltas: (m, find, isSampling) => {
      const { fullStream } = streamText(options(m, find, { prompt: question, stopWhen: stepCountIs(1) }));
      return counted(fullStream, isSampling, ({ type }) => type === "tool-input-delta");
    },
    schema: async (m, find) => {
      const { output } = await generateText(
        options(m, find, { prompt: asJson, tools: undefined, output: Output.object({ schema: when }) }),
      );
      return `${output.day} ${output.time}`;
    },
    typed: async (m, find) => {
      const { output } = await generateText(options(m, find, { prompt: question, output: Output.object({ schema: when }) }));
      return `${output.day} ${output.time}`;
    },
    forced: async (m, find) => {
      const choice = { toolChoice: { type: "tool", toolName: "find_event" }, stopWhen: stepCountIs(1) };
      const { toolCalls } = await generateText(options(m, find, { prompt: hello, ...choice }));
      return toolCalls.map(({ toolName }) => toolName).join();
    },
    parallel: async (m, find) => (await generateText(options(m, find, { prompt: two }))).text,
  };
}

const ai7Chat = async () => {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  return aiSdk("ai", ({ baseUrl, apiKey, model }) =>
    createOpenAICompatible({ name: "local", baseURL: baseUrl, apiKey, supportsStructuredOutputs: true })(model),
  );
};
const ai7Responses = async () => {
  const { createOpenAI } = await import("@ai-sdk/openai");
  const { generate, stream, ...rest } = await aiSdk("ai", ({ baseUrl, apiKey, model }) =>
    createOpenAI({ baseURL: baseUrl, apiKey })(model),
  );
  return { generate, stream, ...rest, responses: generate };
};
const ai6Responses = async () => {
  const { createOpenAI } = await import("openai-provider6");
  const { generate, stream, ...rest } = await aiSdk("ai6", ({ baseUrl, apiKey, model }) =>
    createOpenAI({ baseURL: baseUrl, apiKey })(model),
  );
  return { generate, stream, ...rest, responses: generate };
};
const ai7Anthropic = async () => {
  const { createAnthropic } = await import("@ai-sdk/anthropic");
  const agent = await aiSdk("ai", ({ baseUrl, apiKey, model }) => createAnthropic({ baseURL: baseUrl, apiKey })(model));
  return { ...agent, anthropic: agent.generate };
};

// ---- openai, by hand.
async function openAi(sdk) {
  const { default: OpenAI } = await import(sdk);
  const { zodResponseFormat } = await import(`${sdk}/helpers/zod`);
  const client = ({ baseUrl, apiKey }) => new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });
  const tools = [{ type: "function", function: { name: "find_event", description, parameters: plain(titled) } }];
  const flat = [{ type: "function", name: "find_event", description, parameters: plain(titled), strict: true }];
  const loop = async (m, find, prompt, streamed, more = {}) => {
    const messages = [{ role: "user", content: prompt }];
    for (;;) {
      const body = { model: m.model, messages, tools, ...more };
      const { message } = streamed
        ? (await client(m).chat.completions.stream(body).finalChatCompletion()).choices[0]
        : (await client(m).chat.completions.create(body)).choices[0];
      messages.push(message);
      if (!message.tool_calls?.length) return message.content;
      for (const call of message.tool_calls)
        messages.push({
          role: "tool",
          tool_call_id: call.id,
          content: JSON.stringify(find(JSON.parse(call.function.arguments).title)),
        });
    }
  };
  return {
    generate: async (m, find) => {
      const { data } = await client(m).models.list();
      return loop({ ...m, model: data[0].id }, find, question);
    },
    stream: (m, find) => loop(m, find, question, true),
    parallel: (m, find) => loop(m, find, two),
    deltas: async (m, _, isSampling) => {
      const messages = [{ role: "user", content: question }];
      const chunks = await client(m).chat.completions.create({ model: m.model, messages, tools, stream: true });
      const events = await client(m).responses.create({ model: m.model, input: question, tools: flat, stream: true });
      const inChat = await counted(chunks, isSampling, ({ choices }) => choices[0]?.delta.tool_calls);
      const inResponses = await counted(events, isSampling, ({ type }) => type === "response.function_call_arguments.delta");
      return inChat < inResponses ? inChat : inResponses;
    },
    schema: async (m) => {
      const messages = [{ role: "user", content: asJson }];
      const format = zodResponseFormat(when, "when");
      const { choices } = await client(m).chat.completions.parse({ model: m.model, messages, response_format: format });
      return `${choices[0].message.parsed.day} ${choices[0].message.parsed.time}`;
    },
    typed: async (m, find) => {
      const { day, time } = JSON.parse(await loop(m, find, question, true, { response_format: zodResponseFormat(when, "when") }));
      return `${day} ${time}`;
    },
    forced: async (m) => {
      const messages = [{ role: "user", content: hello }];
      const { choices } = await client(m).chat.completions.create({ model: m.model, messages, tools, tool_choice: "required" });
      return choices[0].message.tool_calls.map((call) => call.function.name).join();
    },
    responses: async (m, find) => {
      // Codex files its requests.
      const filed = { client_metadata: { turn: "1" } };
      let response = await client(m).responses.create({ model: m.model, input: question, tools: flat, ...filed });
      for (;;) {
        const calls = response.output.filter(({ type }) => type === "function_call");
        if (calls.length === 0) return response.output_text;
        const input = calls.map((call) => ({
          type: "function_call_output",
          call_id: call.call_id,
          output: JSON.stringify(find(JSON.parse(call.arguments).title)),
        }));
        const stream = client(m).responses.stream({ model: m.model, previous_response_id: response.id, input, tools: flat });
        response = await stream.finalResponse();
      }
    },
  };
}

// ---- OpenAI Agents.
async function openAiAgents() {
  const { Agent, Runner, tool, OpenAIProvider, setTracingDisabled } = await import("@openai/agents");
  setTracingDisabled(true);
  const runner = ({ baseUrl, apiKey, model }, useResponses) =>
    new Runner({ modelProvider: new OpenAIProvider({ baseURL: baseUrl, apiKey, useResponses }), model, tracingDisabled: true });
  const finder = (find) =>
    tool({ name: "find_event", description, parameters: titled, execute: async ({ title }) => find(title) });
  const agent = (find, more = {}) =>
    new Agent({ name: "Calendar", instructions: "You know the calendar.", tools: [finder(find)], ...more });
  return {
    generate: async (m, find) => (await runner(m, false).run(agent(find), question)).finalOutput,
    responses: async (m, find) => (await runner(m, true).run(agent(find), question)).finalOutput,
    parallel: async (m, find) => (await runner(m, true).run(agent(find), two)).finalOutput,
    stream: async (m, find) => {
      const stream = await runner(m, true).run(agent(find), question, { stream: true });
      const parts = [];
      for await (const part of stream.toTextStream()) parts.push(part);
      await stream.completed;
      if (parts.length < 3) throw new Error(`${parts.length} parts`);
      return stream.finalOutput;
    },
    deltas: async (m, find, isSampling) => {
      const stream = await runner(m, true).run(agent(find), question, { stream: true });
      const isPart = ({ data }) => data?.event?.type === "response.function_call_arguments.delta";
      return counted(stream, isSampling, isPart);
    },
    schema: async (m, find) => {
      const { finalOutput } = await runner(m, true).run(agent(find, { tools: [], outputType: when }), asJson);
      return `${finalOutput.day} ${finalOutput.time}`;
    },
    typed: async (m, find) => {
      const { finalOutput } = await runner(m, true).run(agent(find, { outputType: when }), question);
      return `${finalOutput.day} ${finalOutput.time}`;
    },
    forced: async (m, find) => {
      const settings = { modelSettings: { toolChoice: "find_event" }, toolUseBehavior: "stop_on_first_tool" };
      const { newItems } = await runner(m, true).run(agent(find, settings), hello);
      return newItems.flatMap(({ rawItem }) => (rawItem.type === "function_call" ? [rawItem.name] : [])).join();
    },
    handoffs: async (m, find) => {
      const triage = Agent.create({ name: "Triage", instructions: "You are triage.", handoffs: [agent(find)] });
      return (await runner(m, true).run(triage, question)).finalOutput;
    },
  };
}

// ---- Anthropic.
async function anthropic() {
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  const { betaZodTool } = await import("@anthropic-ai/sdk/helpers/beta/zod");
  const client = ({ baseUrl, apiKey }) => new Anthropic({ baseURL: baseUrl.replace(/\/v1$/, ""), apiKey, maxRetries: 0 });
  const tools = [{ name: "find_event", description, input_schema: plain(titled) }];
  const format = { type: "json_schema", schema: plain(when) };
  const loop = async (m, find, prompt, streamed, more = {}) => {
    const messages = [{ role: "user", content: prompt }];
    // Claude Code tells its surroundings behind the request.
    if (streamed) messages.push({ role: "system", content: "You know the calendar." });
    await client(m).messages.countTokens({ model: m.model, messages, tools });
    for (;;) {
      const body = { model: m.model, max_tokens: 128, messages, tools, ...more };
      const message = streamed ? await client(m).messages.stream(body).finalMessage() : await client(m).messages.create(body);
      messages.push({ role: "assistant", content: message.content });
      const uses = message.content.filter(({ type }) => type === "tool_use");
      if (uses.length === 0) return message.content.map(({ text }) => text).join("");
      const results = uses.map(({ id, input }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: JSON.stringify(find(input.title)),
      }));
      messages.push({ role: "user", content: results });
    }
  };
  return {
    generate: (m, find) => loop(m, find, question),
    anthropic: (m, find) => loop(m, find, question),
    stream: (m, find) => loop(m, find, question, true),
    parallel: async (m, find) => {
      const run = async ({ title }) => JSON.stringify(find(title));
      const messages = [{ role: "user", content: two }];
      const tool = betaZodTool({ name: "find_event", description, inputSchema: titled, run });
      const runner = client(m).beta.messages.toolRunner({ model: m.model, max_tokens: 128, messages, tools: [tool] });
      return (await runner.runUntilDone()).content.map(({ text }) => text).join("");
    },
    deltas: (m, _, isSampling) => {
      const messages = [{ role: "user", content: question }];
      const stream = client(m).messages.stream({ model: m.model, max_tokens: 128, messages, tools });
      return counted(stream, isSampling, ({ delta }) => delta?.type === "input_json_delta");
    },
    typed: async (m, find) => {
      const { day, time } = JSON.parse(await loop(m, find, question, false, { output_config: { format } }));
      return `${day} ${time}`;
    },
    schema: async (m) => {
      const messages = [{ role: "user", content: asJson }];
      const { content } = await client(m).messages.create({
        model: m.model,
        max_tokens: 128,
        messages,
        output_config: { format },
      });
      const { day, time } = JSON.parse(content[0].text);
      return `${day} ${time}`;
    },
    forced: async (m) => {
      const messages = [{ role: "user", content: hello }];
      const choice = { tools, tool_choice: { type: "tool", name: "find_event" } };
      const { content } = await client(m).messages.create({ model: m.model, max_tokens: 128, messages, ...choice });
      return content.map(({ name }) => name).join();
    },
  };
}

// ---- LangChain and LangGraph.
async function langGraph() {
  const { ChatOpenAI } = await import("@langchain/openai");
  const { createReactAgent } = await import("@langchain/langgraph/prebuilt");
  const { tool } = await import("@langchain/core/tools");
  const llm = ({ baseUrl, apiKey, model }, more = {}) =>
    new ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL: baseUrl }, ...more });
  const finder = (find) =>
    tool(async ({ title }) => JSON.stringify(find(title)), { name: "find_event", description, schema: titled });
  const invoke = async (m, find, prompt, more) => {
    const agent = createReactAgent({ llm: llm(m, more), tools: [finder(find)] });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: prompt }] });
    return messages.at(-1).text;
  };
  return {
    generate: (m, find) => invoke(m, find, question),
    parallel: (m, find) => invoke(m, find, two),
    responses: (m, find) => invoke(m, find, question, { useResponsesApi: true }),
    stream: async (m, find) => {
      const agent = createReactAgent({ llm: llm(m), tools: [finder(find)] });
      let text = "";
      const stream = await agent.stream({ messages: [{ role: "user", content: question }] }, { streamMode: "messages" });
      for await (const [chunk] of stream) if (chunk.getType() === "ai") text += chunk.text;
      return text;
    },
    deltas: async (m, find, isSampling) => {
      const stream = await llm(m)
        .bindTools([finder(find)])
        .stream(question);
      return counted(stream, isSampling, ({ tool_call_chunks: chunks }) => chunks?.length > 0);
    },
    schema: async (m) => {
      const { day, time } = await llm(m).withStructuredOutput(when, { method: "jsonSchema", strict: true }).invoke(asJson);
      return `${day} ${time}`;
    },
    forced: async (m, find) => {
      const { tool_calls } = await llm(m)
        .bindTools([finder(find)], { tool_choice: "find_event" })
        .invoke(hello);
      return tool_calls.map(({ name }) => name).join();
    },
  };
}

// ---- Mastra.
async function mastra() {
  const { Agent } = await import("@mastra/core/agent");
  const { createTool } = await import("@mastra/core/tools");
  const agent = ({ baseUrl, apiKey, model }, find) =>
    new Agent({
      id: "calendar",
      name: "calendar",
      instructions: "You know the calendar.",
      model: { id: `local/${model}`, url: baseUrl, apiKey },
      tools: find && {
        find_event: createTool({
          id: "find_event",
          description,
          inputSchema: titled,
          execute: async (input) => find((input.context ?? input).title),
        }),
      },
    });
  return {
    generate: async (m, find) => (await agent(m, find).generate(question)).text,
    parallel: async (m, find) => (await agent(m, find).generate(two)).text,
    stream: async (m, find) => {
      let text = "";
      for await (const part of (await agent(m, find).stream(question)).textStream) text += part;
      return text;
    },
    deltas: async (m, find, isSampling) => {
      const { fullStream } = await agent(m, find).stream(question, { maxSteps: 1 });
      return counted(fullStream, isSampling, ({ type }) => type === "tool-call-delta");
    },
    schema: async (m) => {
      const { object } = await agent(m).generate(asJson, { structuredOutput: { schema: when } });
      return `${object.day} ${object.time}`;
    },
    forced: async (m, find) => {
      const choice = { toolChoice: { type: "tool", toolName: "find_event" }, maxSteps: 1 };
      const { toolCalls } = await agent(m, find).generate(hello, choice);
      return toolCalls.map(({ payload }) => payload.toolName).join();
    },
  };
}

// ---- Genkit.
async function genkit() {
  const { genkit: make, z: zod } = await import("genkit");
  const { openAICompatible } = await import("@genkit-ai/compat-oai");
  const start = ({ baseUrl, apiKey }) => make({ plugins: [openAICompatible({ name: "local", apiKey, baseURL: baseUrl })] });
  const finder = (ai, find) =>
    ai.defineTool({ name: "find_event", description, inputSchema: zod.object({ title: zod.string() }) }, async ({ title }) =>
      find(title),
    );
  const ask = async (m, find, prompt) => {
    const ai = start(m);
    return (await ai.generate({ model: `local/${m.model}`, prompt, tools: [finder(ai, find)] })).text;
  };
  return {
    generate: (m, find) => ask(m, find, question),
    parallel: (m, find) => ask(m, find, two),
    stream: async (m, find) => {
      const ai = start(m);
      const { stream, response } = ai.generateStream({ model: `local/${m.model}`, prompt: question, tools: [finder(ai, find)] });
      for await (const _ of stream);
      return (await response).text;
    },
    schema: async (m) => {
      const schema = zod.object({ day: zod.string(), time: zod.string() });
      const { output } = await start(m).generate({ model: `local/${m.model}`, prompt: asJson, output: { schema } });
      return `${output.day} ${output.time}`;
    },
  };
}

// ---- Google.
async function googleGenAi() {
  const { FunctionCallingConfigMode, GoogleGenAI, Type } = await import("@google/genai");
  const client = ({ baseUrl, apiKey }) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: baseUrl.replace(/\/v1$/, "") } });
  const parameters = { type: Type.OBJECT, properties: { title: { type: Type.STRING } }, required: ["title"] };
  const functionDeclarations = [{ name: "find_event", description, parameters }];
  const answersOf = (calls, find) =>
    calls.map(({ id, name, args }) => ({ functionResponse: { id, name, response: { output: find(args.title) } } }));
  const loop = async (m, find, more = {}) => {
    const contents = [{ role: "user", parts: [{ text: question }] }];
    const config = { tools: [{ functionDeclarations }], systemInstruction: "You know the calendar.", ...more };
    await client(m).models.countTokens({ model: m.model, contents });
    for (;;) {
      const response = await client(m).models.generateContent({ model: m.model, contents, config });
      if (!response.functionCalls) return response.text;
      contents.push(response.candidates[0].content, { role: "user", parts: answersOf(response.functionCalls, find) });
    }
  };
  return {
    generate: async (m, find) => {
      const { page } = await client(m).models.list();
      return loop({ ...m, model: page[0].name }, find);
    },
    gemini: (m, find) => loop(m, find),
    stream: async (m, find) => {
      const chat = client(m).chats.create({ model: m.model, config: { tools: [{ functionDeclarations }] } });
      let message = question;
      for (;;) {
        const [texts, calls] = [[], []];
        for await (const { text, functionCalls = [] } of await chat.sendMessageStream({ message })) {
          if (text) texts.push(text);
          calls.push(...functionCalls);
        }
        if (calls.length === 0 && texts.length < 3) throw new Error(`${texts.length} parts`);
        // The chat keeps a content a chunk: one more turn shows that they are one message.
        if (calls.length === 0) await chat.sendMessage({ message: "Thanks." });
        if (calls.length === 0) return texts.join("");
        message = answersOf(calls, find);
      }
    },
    schema: async (m) => {
      const text = { type: Type.STRING };
      const responseSchema = { type: Type.OBJECT, properties: { day: text, time: text }, required: ["day", "time"] };
      const config = { responseMimeType: "application/json", responseSchema };
      const { text: json } = await client(m).models.generateContent({ model: m.model, contents: asJson, config });
      const { day, time } = JSON.parse(json);
      return `${day} ${time}`;
    },
    typed: async (m, find) => {
      const form = { responseMimeType: "application/json", responseJsonSchema: plain(when) };
      const { day, time } = JSON.parse(await loop(m, find, form));
      return `${day} ${time}`;
    },
    forced: async (m) => {
      const functionCallingConfig = { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ["find_event"] };
      const config = { tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig } };
      const { functionCalls } = await client(m).models.generateContent({ model: m.model, contents: hello, config });
      return functionCalls.map(({ name }) => name).join();
    },
    parallel: async (m, find) => {
      const calendar = {
        tool: async () => ({ functionDeclarations: [{ name: "find_event", description, parametersJsonSchema: plain(titled) }] }),
        callTool: async (calls) => answersOf(calls, find),
      };
      return (await client(m).models.generateContent({ model: m.model, contents: two, config: { tools: [calendar] } })).text;
    },
  };
}

// ---- No framework.
async function plainFetch() {
  const post = async ({ baseUrl, apiKey, model }, body) => {
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify({ model, ...body }),
    });
    const json = await response.json();
    if (!response.ok) throw new Error(json.error.message);
    return json.choices[0].message;
  };
  const tools = [{ type: "function", function: { name: "find_event", description, parameters: plain(titled) } }];
  const loop = async (m, find, prompt) => {
    const messages = [{ role: "user", content: prompt }];
    for (;;) {
      const message = await post(m, { messages, tools });
      messages.push(message);
      if (!message.tool_calls) return message.content;
      for (const call of message.tool_calls)
        messages.push({
          role: "tool",
          tool_call_id: call.id,
          content: JSON.stringify(find(JSON.parse(call.function.arguments).title)),
        });
    }
  };
  return {
    generate: (m, find) => loop(m, find, question),
    parallel: (m, find) => loop(m, find, two),
    forced: async (m) => {
      const choice = { tools, tool_choice: { type: "function", function: { name: "find_event" } } };
      const { tool_calls } = await post(m, { messages: [{ role: "user", content: hello }], ...choice });
      return tool_calls.map((call) => call.function.name).join();
    },
  };
}

export const frameworks = {
  "ai 7, @ai-sdk/openai-compatible": ai7Chat,
  "ai 7, @ai-sdk/openai": ai7Responses,
  "ai 7, @ai-sdk/anthropic": ai7Anthropic,
  "ai 6, @ai-sdk/openai": ai6Responses,
  "openai 7": () => openAi("openai"),
  "openai 6": () => openAi("openai6"),
  "@openai/agents": openAiAgents,
  "@anthropic-ai/sdk": anthropic,
  "@langchain/openai, langgraph": langGraph,
  "@mastra/core": mastra,
  "genkit, compat-oai": genkit,
  "@google/genai": googleGenAi,
  fetch: plainFetch,
};

/** Those whose major version before is in use too. It is installed in a folder of its own, beside which this file is copied. */
export const previous = {
  "@anthropic-ai/sdk 0": anthropic,
  "@langchain/openai 0, langgraph 0": langGraph,
  "@mastra/core 0": mastra,
};
