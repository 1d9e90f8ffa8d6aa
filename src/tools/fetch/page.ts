import { TextDecoder } from "node:util";
import { convert } from "html-to-text";
import { ToolError } from "../../core/errors.ts";

/** What a server sent. */
export interface Body {
  readonly bytes: Uint8Array;
  /** The header, with its parameters; "" where there was none. */
  readonly contentType: string;
}

/** The text of a page. HTML becomes what a reader sees of it, its title first. @throws ToolError for what is not text */
export function textOf({ bytes, contentType }: Body): string {
  const type = contentType.split(";")[0].trim().toLowerCase();
  if (type !== "" && !isText(type)) throw notText(type);
  const text = decode(bytes, contentType);
  // No text in any encoding that was understood has these.
  if (text.includes("\0")) throw notText("binary data");
  const html =
    type === "text/html" || type === "application/xhtml+xml" || (type === "" && /^\s*<(!doctype html|html)/i.test(text));
  return html ? readable(text) : text;
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

function readable(html: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(html)?.[1].trim() ?? "";
  const body = toText(html);
  return [title === "" ? "" : toText(title), body].filter((part) => part !== "").join("\n\n");
}

function toText(html: string): string {
  return convert(html, {
    wordwrap: false,
    // A page that nests deeper than this is not meant to be read.
    limits: { maxDepth: 256 },
    selectors: [
      { selector: "a", options: { ignoreHref: true } },
      { selector: "img", format: "skip" },
      ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
      { selector: "table", options: { uppercaseHeaderCells: false }, format: "dataTable" },
    ],
  }).trim();
}
