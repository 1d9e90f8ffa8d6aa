import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { acts } from "../../src/core/acts.ts";
import { ConfigError } from "../../src/core/errors.ts";
import type { AssistantMessage, Message } from "../../src/core/messages.ts";
import { seedOf } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import { type Environment, type Episode, splits, type Task } from "../../src/environments/environment.ts";
import { experts } from "./experts.ts";
import { type Act, openInJsdom, Page, type PageRuntime, type Shown } from "./page.ts";

export const miniwobSettingsSchema = z.strictObject({
  /** The Python package's folder, which has `html`. Its pages run as code in this process. */
  data: acts.by(z.string(), (what) => [{ kind: "runs", what: `the pages in ${what}` }]),
  /** Played in turn. Default: all that have an expert. */
  pages: z.array(z.string()).min(1).optional(),
  /** Most actions of an episode. */
  maxActions: z.int().min(1).max(100).default(16),
});

export interface MiniwobTask extends Task {
  readonly kind: string;
  /** The seed of the page's own generator. */
  readonly seed: number;
}

/** Opens a page in whatever runs its JavaScript. @param folder html/miniwob of the package */
export type OpenPage = (folder: string, name: string) => Promise<PageRuntime>;

const system = `Operate the page by one action a message:
click N
type N TEXT`;

/** Pages that cannot be played by elements alone, by the thing that they need. */
const needs: readonly (readonly [RegExp, string])[] = [
  [
    /^(drag|draw|bisect|chase|circle|find-midpoint|grid-coord|highlight|hot-cold|hover|moving|resize|right-angle)/,
    "a pointer with coordinates",
  ],
  [/^(scroll-text|use-(slider|colorwheel)|click-(menu-2|pie)|form-sequence$)/, "a pointer with coordinates"],
  [
    /^(click-collapsible(-nodelay)?|identify-shape|count-(shape|sides)|visual-addition|number-checkboxes|tic-tac-toe)$/,
    "a layout or a picture",
  ],
  [
    /^(stock-market|simon-says|button-delay|.*-popup|use-autocomplete|choose-date)/,
    "time that passes, or windows that interrupt",
  ],
];

/**
 * Pages of MiniWoB++ (Shi et al., 2017; Liu et al., arXiv:1802.08802) in jsdom: each task is a page with a seed of its generator. The reward is the
 * page's own, without its penalty for time; partial and negative rewards are 0.
 * @throws ConfigError naming a page that is not played, and why; a folder without pages
 */
export function miniwobEnvironment(
  userSettings: unknown,
  open: OpenPage = (folder, name) => openInJsdom(folder, name),
): Environment<MiniwobTask> {
  const {
    data,
    maxActions,
    pages = Object.keys(experts),
  } = parseSettings(miniwobSettingsSchema, userSettings, "environment.settings");
  const folder = join(data, "html", "miniwob");
  if (!existsSync(folder))
    throw new ConfigError("environment.settings.data", data, {
      expected: "the folder of the Python package miniwob 1.1.0, with html/miniwob in it",
      hint: "pip download --no-deps miniwob==1.1.0, then unzip the wheel.",
    });
  for (const name of pages) requirePlayed(name, folder);
  const task = (split: string, index: number): MiniwobTask => {
    const kind = pages[index % pages.length] ?? "";
    return { id: `${split}/${index}/${kind}`, kind, seed: seedOf(0, "task", split, index) >>> 1 };
  };
  return {
    name: "miniwob",
    splits,
    size: (split) => (splits.some((known) => known === split) ? Number.POSITIVE_INFINITY : 0),
    task,
    replayable: true,
    start: async ({ kind, seed }) => episodeOf(await Page.start(await open(folder, kind), kind, seed), maxActions),
    demonstrate: async ({ kind, seed }) => {
      const page = await Page.start(await open(folder, kind), kind, seed);
      try {
        return await demonstrated(page, kind);
      } finally {
        await page.close();
      }
    },
  };
}

function requirePlayed(name: string, folder: string): void {
  if (name in experts) return;
  const isPage = /^[\w-]+$/.test(name) && existsSync(join(folder, `${name}.html`));
  const need = needs.find(([pattern]) => pattern.test(name))?.[1];
  throw new ConfigError("environment.settings.pages", name, {
    expected: `pages with an expert: ${Object.keys(experts).join(", ")}`,
    hint: isPage
      ? `This page ${need === undefined ? "has no script that solves it yet" : `needs ${need}`}.`
      : "There is no page of that name.",
  });
}

async function episodeOf(page: Page, maxActions: number): Promise<Episode> {
  return {
    messages: opening(page.instruction, await page.look()),
    tools: [],
    limits: { turns: maxActions },
    reply: async ({ content }) => {
      const act = actionOf(content);
      const wrong = act === undefined ? 'an action is "click N" or "type N TEXT"' : await page.act(act);
      if ((await page.state()).done) return { done: true };
      return { done: false, messages: [answer(wrong, await page.look())] };
    },
    score: async () => {
      const { reward } = await page.state();
      return { reward: Number(reward === 1), scores: { page: reward } };
    },
    close: () => page.close(),
  };
}

const opening = (instruction: string, shown: readonly Shown[]): Message[] => [
  { role: "system", content: system },
  { role: "user", content: `${instruction}\n\n${written(shown)}` },
];

const answer = (wrong: string, shown: readonly Shown[]): Message => ({
  role: "user",
  content: wrong === "" ? written(shown) : `Error: ${wrong}.\n\n${written(shown)}`,
});

/** Writes elements as a model reads them: one line each, such as `3 textbox "Name" = "Ana"`. */
export function written(shown: readonly Shown[]): string {
  const line = ({ ref, role, name, value, checked }: Shown) =>
    [
      ...(ref === undefined ? [] : [ref]),
      ...(role === "text" ? [] : [role]),
      ...(name === "" && role !== "text" ? [] : [JSON.stringify(name)]),
      ...(value === undefined ? [] : ["=", JSON.stringify(value)]),
      ...(checked === true ? ["chosen"] : []),
    ].join(" ");
  return shown.map(line).join("\n");
}

/** @returns undefined for what is no action */
export function actionOf(text: string): Act | undefined {
  const clicked = /^\s*click (\d{1,4})\s*$/.exec(text)?.[1];
  if (clicked !== undefined) return { kind: "click", ref: Number(clicked) };
  const [, ref, typed] = /^\s*type (\d{1,4}) (.*)\n*$/.exec(text) ?? [];
  return typed === undefined ? undefined : { kind: "type", ref: Number(ref), text: typed };
}

const actionText = ({ kind, ref, text }: Act) => (kind === "click" ? `click ${ref}` : `type ${ref} ${text}`);

async function demonstrated(page: Page, kind: string): Promise<Message[]> {
  let shown = await page.look();
  const messages = opening(page.instruction, shown);
  const script = experts[kind]?.(page.instruction, shown);
  for (let turn = script?.next(); turn !== undefined && turn.done !== true; turn = script?.next(shown)) {
    messages.push({ role: "assistant", content: actionText(turn.value) } satisfies AssistantMessage);
    const wrong = await page.act(turn.value);
    if ((await page.state()).done) break;
    shown = await page.look();
    messages.push(answer(wrong, shown));
  }
  return messages;
}
