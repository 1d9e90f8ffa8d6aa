// @ts-check
/**
 * The program of a thread that turns one page of HTML into text. A thread, because a page may be made so that this takes for ever, or all memory:
 * then the thread alone is ended. Plain JavaScript, because Node 20 starts it as it is.
 */
import { parentPort, workerData } from "node:worker_threads";
import { convert } from "html-to-text";

const html = String(workerData);
const title = toText(/<title\b[^<>]*>([^<]*)<\/title>/i.exec(html)?.[1] ?? "");
parentPort?.postMessage([title, toText(html)].filter((part) => part !== "").join("\n\n"));

/** @param {string} part */
function toText(part) {
  return convert(part, {
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
