import { z } from "zod";
import { createPython, type Python } from "../../extensions/tools/python/python.ts";
import type { SearchProvider, SearchResult } from "../../extensions/tools/search/provider.ts";
import { defineTool, type Tool } from "../../src/tools/tool.ts";
import { trim } from "./answer-text.ts";

const attempts = 3;
/** The wait for both tools' answers, attempts included; and for an interpreter that is busy with other episodes. */
const overallMs = 120_000;
const patienceMs = 60_000;
const [maxResults, maxSnippet] = [10, 1000];
/** More than fits into any response of the paper: its code cuts nothing. */
const defaultResultLength = 100_000;

/** Limits of the Python tool, and the number of characters of any result that the model reads. */
export interface ToolSettings {
  readonly python: { readonly interpreters: number; readonly timeoutMs: number; readonly memoryMb: number };
  readonly limits: { readonly resultLength?: number };
}

/** Writes the results of a search as the text that the model reads. */
export type WriteResults = (results: readonly SearchResult[], query: string, signal: AbortSignal) => string | Promise<string>;

/** The tools of the protocol: what the model reads is what the published code's tools would have written. */
export function researchTools(search: SearchProvider, settings: ToolSettings, write: WriteResults = pagesText): readonly Tool[] {
  const maxOutput = settings.limits.resultLength ?? defaultResultLength;
  return [
    defineTool({
      name: "search",
      description: "Searches for documents.",
      parameters: z.object({ query: z.string() }),
      timeoutMs: overallMs,
      maxOutput,
      idempotent: true,
      replayable: search.replayable,
      execute: ({ query }, { signal }) => steadily("search", () => searched(search, query, signal, write), signal),
    }),
    pythonTool(settings),
  ];
}

/** Returns the protocol's Python tool: each call starts from nothing, and a last expression is printed. */
export function pythonTool({ python: limits, limits: { resultLength } }: ToolSettings): Tool {
  const maxOutput = resultLength ?? defaultResultLength;
  const python = createPython({ ...limits, maxOutput, stderr: false });
  return defineTool({
    name: "python",
    description: "Runs Python code, each time anew.",
    parameters: z.object({ code: z.string() }),
    timeoutMs: limits.timeoutMs + patienceMs,
    maxOutput,
    idempotent: true,
    replayable: true,
    execute: ({ code }, { signal }) => steadily("python", () => ran(python, code, signal), signal),
  });
}

/** The first output that is not empty. */
async function steadily(name: string, attempt: () => Promise<string>, signal: AbortSignal): Promise<string> {
  for (let tried = 0; tried < attempts; tried++) {
    const output = await attempt().catch(() => "");
    signal.throwIfAborted();
    if (output !== "") return output;
  }
  return `Tool(${name}) returned empty output.`;
}

async function searched(provider: SearchProvider, query: string, signal: AbortSignal, write: WriteResults): Promise<string> {
  const unquoted = query.replaceAll('"', "");
  return write(await provider.search(unquoted, { count: maxResults, signal }), unquoted, signal);
}

/** Distinct snippets, a line `Page i: …` each. */
export function pagesText(results: readonly SearchResult[]): string {
  const snippets = [...new Set(results.map(({ snippet }) => firstCharacters(snippet, maxSnippet)))];
  if (snippets.length === 0) return "No search results found.";
  return snippets
    .slice(0, maxResults)
    .map((snippet, index) => `Page ${index + 1}: ${snippet}`)
    .join("\n");
}

/** Characters as Python counts them: none is half of a pair. */
function firstCharacters(text: string, count: number): string {
  return text.length <= count ? text : Array.from(text).slice(0, count).join("");
}

/** Returns the text that the code printed; where it failed, only how. */
async function ran(python: Python, code: string, signal: AbortSignal): Promise<string> {
  const { output, error } = await python.run(await printingLast(python, code, signal), signal);
  return error ?? trim(output);
}

/** Code whose last statement, if it is an expression other than a call of `print`, is printed: as it is, not as a notebook shows it. */
async function printingLast(python: Python, code: string, signal: AbortSignal): Promise<string> {
  // A JSON string is a Python string too.
  const { output, error } = await python.run(
    printer.replace("SOURCE", () => JSON.stringify(code)),
    signal,
  );
  return error === undefined && output !== "" ? output : code;
}

const printer = `
import ast
lines = SOURCE.encode("utf-8", "surrogatepass").splitlines(True)
source = b"".join(lines)
body = ast.parse(source).body
last = body[-1] if body else None
if isinstance(last, ast.Expr) and not (isinstance(last.value, ast.Call) and getattr(last.value.func, "id", "") == "print"):
    start, end = (sum(map(len, lines[:line - 1])) + column for line, column in ((last.lineno, last.col_offset), (last.end_lineno, last.end_col_offset)))
    print((source[:start] + b"print((" + source[start:end] + b"))" + source[end:]).decode())
`;
