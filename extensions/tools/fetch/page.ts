import { TextDecoder } from "node:util";
import { Worker } from "node:worker_threads";
import { ToolError } from "../../../src/core/errors.ts";
import { isMissing } from "../../../src/core/optional-package.ts";

/** The body that a server sent. */
export interface Body {
  readonly bytes: Uint8Array;
  /** The header, with its parameters; "" where there was none. */
  readonly contentType: string;
}

/** The text of a page. HTML becomes what a reader sees of it, its title first. @throws ToolError for what is not text */
export async function textOf({ bytes, contentType }: Body, signal: AbortSignal): Promise<string> {
  const [type] = contentType.trim().toLowerCase().split(/\s*;/, 1) as [string];
  if (type !== "" && !isText(type)) throw notText(type);
  const text = decode(bytes, contentType);
  // No text in any encoding that was understood has these.
  if (text.includes("\0")) throw notText("binary data");
  const html =
    type === "text/html" || type === "application/xhtml+xml" || (type === "" && /^\s*<(!doctype html|html)/i.test(text));
  return html ? readable(text, signal) : text;
}

function isText(type: string): boolean {
  return (
    /^text\/|^application\/(xhtml\+xml|json|xml|javascript|x-ndjson|yaml|toml)$|\+(json|xml)$/.test(type) &&
    type !== "image/svg+xml"
  );
}

function notText(what: string): ToolError {
  return new ToolError("fetch", what, { expected: "a page of text", hint: "Other kinds of files cannot be read." });
}

/** By byte order mark, header, `<meta>`, and else UTF-8. */
function decode(bytes: Uint8Array, contentType: string): string {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, 2048));
  const [, named] =
    /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType) ??
    /<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?([\w.:-]+)/i.exec(head) ??
    [];
  return (decoderOf(markOf(bytes) ?? named) ?? new TextDecoder()).decode(bytes);
}

function markOf(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return undefined;
}

function decoderOf(label: string | undefined): TextDecoder | undefined {
  try {
    return label === undefined ? undefined : new TextDecoder(label);
  } catch {
    return undefined;
  }
}

/** The megabytes of memory that one page's HTML may take while it is read. */
const maxMegabytes = 256;

/** Title and text, made in a thread of its own, which ends with the signal. */
function readable(html: string, signal: AbortSignal): Promise<string> {
  const thread = new Worker(new URL("./html.mjs", import.meta.url), {
    workerData: html,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: maxMegabytes, maxYoungGenerationSizeMb: 32 },
  });
  const end = () => void thread.terminate();
  signal.addEventListener("abort", end);
  return new Promise<string>((resolve, reject) => {
    thread.on("message", (text) => resolve(String(text)));
    thread.on("error", (error) => reject(isMissing(error) ? notInstalled(error) : notReadable()));
    thread.on("exit", () => reject(signal.aborted ? signal.reason : notReadable()));
  }).finally(() => {
    signal.removeEventListener("abort", end);
    end();
  });
}

function notInstalled(cause: Error): ToolError {
  return new ToolError("fetch", "without the package html-to-text", {
    expected: "it to be installed: pages of HTML need it",
    hint: "npm install html-to-text",
    cause,
  });
}

function notReadable(): ToolError {
  return new ToolError("fetch", "HTML that cannot be read", { expected: `HTML that takes less than ${maxMegabytes} MB to read` });
}
