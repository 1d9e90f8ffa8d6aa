import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, context, ROOT_CONTEXT, type Span, trace } from "@opentelemetry/api";
import { afterEach, expect, test } from "vitest";
import { inEpisodeSpan } from "./tracing.ts";

interface Ended {
  readonly name: string;
  readonly attributes: Record<string, unknown>;
  readonly parent: string | undefined;
}
const ended: Ended[] = [];

/** A tracer as an SDK registers one, with spans that are numbered. */
function register(): void {
  const storage = new AsyncLocalStorage<Context>();
  const active = () => storage.getStore() ?? ROOT_CONTEXT;
  context.setGlobalContextManager({
    active,
    with: (inside, run, self, ...args) => storage.run(inside, () => run.apply(self as never, args)),
    bind: (_, target) => target,
    enable: () => ({}) as never,
    disable: () => ({}) as never,
  });
  let spans = 0;
  const startSpan = (name: string, { attributes = {} }: { attributes?: object } = {}, parent = active()): Span => {
    const spanId = String(++spans).padStart(16, "0");
    const span = {
      name,
      attributes: { ...attributes } as Record<string, unknown>,
      parent: trace.getSpan(parent)?.spanContext().spanId,
    };
    return {
      setAttribute: (key: string, value: unknown) => (span.attributes[key] = value),
      recordException: ({ message }: Error) => (span.attributes.error = message),
      spanContext: () => ({ traceId: "a".repeat(32), spanId, traceFlags: 1 }),
      end: () => ended.push(span),
    } as unknown as Span;
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as never });
}

afterEach(() => {
  trace.disable();
  context.disable();
  ended.length = 0;
});

test("an agent's spans are below that of its episode, which names it; a child process gets both", async () => {
  register();
  const scored = await inEpisodeSpan("step-3/1/0", async (env) => {
    await Promise.resolve();
    trace.getTracer("the agent's").startSpan("ai.generateText").end();
    return { reward: 0.5, env };
  });
  expect(ended).toEqual([
    { name: "ai.generateText", attributes: {}, parent: "0000000000000001" },
    {
      name: "retrograde.episode",
      attributes: { "retrograde.episode": "step-3/1/0", "retrograde.reward": 0.5 },
      parent: undefined,
    },
  ]);
  expect(scored.env).toEqual({
    OTEL_RESOURCE_ATTRIBUTES: "retrograde.episode=step-3/1/0",
    TRACEPARENT: `00-${"a".repeat(32)}-0000000000000001-01`,
  });
  await expect(inEpisodeSpan("step-3/1/1", () => Promise.reject(new Error("no order")))).rejects.toThrow("no order");
  expect(ended.at(-1)?.attributes).toMatchObject({ error: "no order" });
});

test("without a tracer an episode is as it is, and its program's own attributes stay", async () => {
  process.env.OTEL_RESOURCE_ATTRIBUTES = "service.name=desk";
  const { env } = await inEpisodeSpan("step-3/1/0", async (env) => ({ reward: 1, env }));
  delete process.env.OTEL_RESOURCE_ATTRIBUTES;
  expect(env).toEqual({ OTEL_RESOURCE_ATTRIBUTES: "service.name=desk,retrograde.episode=step-3/1/0" });
});
