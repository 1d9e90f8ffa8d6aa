import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { wrapMarkdown } from "../scripts/wrap-markdown.ts";
import { pages } from "../scripts/wrap-pages.ts";

/** Prose is read by engineers for whom English is a second language: some words and openings are not used in pages and docstrings. */

const root = join(import.meta.dirname, "..");

const words = [
  ...["told", "anew", "beforehand", "all the same", "in the place of", "so many", "goes on", "is had", "nobody's", "likeliest"],
  ...["tells", "(?:comes?|came) along", "stands? (?:in|at|for)", "makes? again"],
];
const unwanted = new RegExp(`\\b(?:${words.join("|")})\\b`, "gi");
const openings = /^(?:What|Whatever|Whoever|Of|So many|None where)\b/;

function filesBelow(folder: string, fits: (name: string) => boolean): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => join(root, folder, name))
    .filter(fits);
}

const lineOf = (text: string, at: number) => text.slice(0, at).split("\n").length;

/** The prose of a page: without code. */
const proseOf = (page: string) => page.replace(/```[\s\S]*?```|`[^`\n]*`|^ {4}.*$/gm, (code) => code.replace(/[^\n]/g, " "));

function unwantedWords(file: string, text: string, from = 0, whole = text): string[] {
  return [...text.matchAll(unwanted)].map(
    (found) => `${relative(root, file)}:${lineOf(whole, from + found.index)} "${found[0]}"`,
  );
}

test("pages use no word of the list", () => {
  const pages = [join(root, "README.md"), ...filesBelow("docs", (name) => name.endsWith(".md"))];
  expect(pages.flatMap((file) => unwantedWords(file, proseOf(readFileSync(file, "utf8"))))).toEqual([]);
});

test("README is a door: 700 words at most", () => {
  expect(readFileSync(join(root, "README.md"), "utf8").split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(700);
});

test("pages are filled to one width (npm run format, or npx jiti scripts/wrap-pages.ts)", () => {
  for (const page of pages()) {
    const text = readFileSync(page, "utf8");
    expect(text, relative(root, page)).toBe(wrapMarkdown(text));
  }
});

/** Words that a sentence may have. The guide asks for 25; this is where a reader loses the beginning. */
const longestSentence = 40;

/** Sentences of a page's paragraphs and list items. Behind a colon, semicolons end items of a list. */
function sentencesOf(page: string): string[] {
  const isProse = (paragraph: string) => !/^(?:\s*\||#| {4})/.test(paragraph);
  const paragraphs = page
    .replace(/```[\s\S]*?```|<!--.*?-->/g, "\n\n")
    .split(/\n\s*\n|\n(?= *(?:[-*+]|\d+\.) )|\n(?=\||#)|(?<=\|)\n/);
  return paragraphs.filter(isProse).flatMap((paragraph) =>
    paragraph
      .replace(/`[^`]*`/g, "Code")
      .replace(/\]\([^)]*\)/g, "]")
      .replace(/\s+/g, " ")
      .split(/(?<=[.!?][)*"”]*) (?=[*"“([]*[\p{Lu}\d])/u)
      .flatMap((sentence) => {
        const [head, ...items] = sentence.split(": ");
        return [head, ...items.flatMap((item) => item.split("; "))];
      }),
  );
}

test(`no sentence of a page has more than ${longestSentence} words`, () => {
  const count = (sentence: string) => sentence.split(" ").filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
  const long = pages().flatMap((page) =>
    sentencesOf(readFileSync(page, "utf8"))
      .filter((sentence) => count(sentence) > longestSentence)
      .map((sentence) => `${relative(root, page)}: ${count(sentence)} words: ${sentence}`),
  );
  expect(long).toEqual([]);
});

test("sentences are counted without code and tables", () => {
  const page = "# Title\n\nOne `two. Three` four. Five: six; seven.\n\n| a. B |\n\n- Eight\n  nine.\n\n    code. More\n";
  expect(sentencesOf(page).map((sentence) => sentence.trim())).toEqual([
    "One Code four.",
    "Five",
    "six",
    "seven.",
    "- Eight nine.",
  ]);
});

const isSource = (name: string) => name.endsWith(".ts") && !/\.(?:test|fixture|test-d)\.ts$/.test(name);
const sources = ["src", "extensions", "entries"].flatMap((folder) => filesBelow(folder, isSource));

function docstringsOf(file: string): { readonly text: string; readonly at: number; readonly whole: string }[] {
  const whole = readFileSync(file, "utf8");
  return [...whole.matchAll(/\/\*\*([\s\S]*?)\*\//g)].map((found) => ({ text: found[1], at: found.index + 3, whole }));
}

/** Texts that models read: their words are part of tasks and of recorded prompts. */
const forModels = /extensions\/office\/|demo\/wordings\.ts|arpo-protocol\/tools\.ts|tools\/python\/python\.ts/;
/** Comments of both kinds, and texts in any quotes. */
const written = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|(["'`])(?:\\[\s\S]|(?!\1)[^\\])*?\1/g;
const titles = /\b(?:test|describe|it)\b[\w.]*(?:\([^"\n]*?\))*\(\s*"(?:\\.|[^"\\\n])*"/g;

function unwantedIn(files: readonly string[], parts: RegExp): string[] {
  return files.flatMap((file) => {
    const whole = readFileSync(file, "utf8");
    return [...whole.matchAll(parts)].flatMap(({ 0: text, index }) =>
      unwantedWords(file, text.startsWith("`") ? text : proseOf(text), index, whole),
    );
  });
}

test("comments, docstrings and texts in the code use no word of the list", () => {
  const pages = ["dashboard/src", "scripts"].flatMap((folder) => filesBelow(folder, (name) => /\.(?:tsx?|mjs)$/.test(name)));
  expect(
    unwantedIn(
      [...sources, ...pages].filter((file) => !forModels.test(file)),
      written,
    ),
  ).toEqual([]);
});

test("titles of tests use no word of the list", () => {
  const tests = ["src", "extensions", "test", "research"].flatMap((folder) => filesBelow(folder, (name) => /\.ts$/.test(name)));
  expect(unwantedIn(tests, titles)).toEqual([]);
});

test("a docstring opens with its subject", () => {
  const found = sources.flatMap((file) =>
    docstringsOf(file)
      .filter(({ text }) => openings.test(text.replace(/^[\s*]+/, "")))
      .map(({ text, at, whole }) => `${relative(root, file)}:${lineOf(whole, at)} ${text.replace(/^[\s*]+/, "").slice(0, 50)}`),
  );
  expect(found).toEqual([]);
});
