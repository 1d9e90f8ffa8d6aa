/** OpenTelemetry's interface, which `@opentelemetry/api` 1 registers for all of its copies in a process. Without a tracer nothing is traced. */
interface Registered {
  readonly trace?: { getTracer(name: string): { startSpan(name: string, options: object, parent?: Context): Span } };
  readonly context?: { active(): Context; with<T>(context: Context, run: () => T): T };
}
interface Context {
  setValue(key: symbol, value: unknown): Context;
}
interface Span {
  setAttribute(name: string, value: string | number): unknown;
  recordException(error: Error): void;
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  end(): void;
}
const api = Symbol.for("opentelemetry.js.api.1");
const activeSpan = Symbol.for("OpenTelemetry Context Key SPAN");

/** The id of a trajectory, as runs and the dashboard name it. */
const attribute = "retrograde.episode";

/**
 * Runs an episode in a span of the program's tracer, so that the agent's own spans are below it and name the episode.
 * @param run gets variables for a child process: the resource attribute and the parent of its spans, as OpenTelemetry's SDKs read them
 */
export async function inEpisodeSpan<T extends { readonly reward: number }>(
  episode: string,
  run: (env: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  const { trace, context } = (globalThis as { readonly [api]?: Registered })[api] ?? {};
  const resource = [process.env.OTEL_RESOURCE_ATTRIBUTES, `${attribute}=${encodeURI(episode)}`].filter(Boolean).join(",");
  const env = { OTEL_RESOURCE_ATTRIBUTES: resource };
  const parent = context?.active();
  const span = trace
    ?.getTracer("retrograde-rl")
    .startSpan("retrograde.episode", { attributes: { [attribute]: episode } }, parent);
  if (span === undefined) return run(env);
  const { traceId, spanId, traceFlags } = span.spanContext();
  const child = { ...env, TRACEPARENT: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}` };
  try {
    const inside = () => run(child);
    const scored = await (parent === undefined
      ? inside()
      : (context?.with(parent.setValue(activeSpan, span), inside) ?? inside()));
    span.setAttribute("retrograde.reward", scored.reward);
    return scored;
  } catch (error) {
    span.recordException(error instanceof Error ? error : new Error(String(error)));
    throw error;
  } finally {
    span.end();
  }
}
