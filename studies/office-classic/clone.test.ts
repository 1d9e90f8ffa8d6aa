import fc from "fast-check";
import { expect, test } from "vitest";
import { randomStream } from "../../src/core/random.ts";
import { parseSettings } from "../../src/core/settings.ts";
import { demonstrate } from "./demonstrations.ts";
import { type OfficeEpisode, startEpisode } from "./episode.ts";
import { officeClassicEnvironment } from "./office-classic.ts";
import { completeSettings, officeSettingsSchema } from "./settings.ts";
import { drawTask, type OfficeTask } from "./task.ts";

const settings = completeSettings(parseSettings(officeSettingsSchema, { difficulty: "large", busy: 0.5 }));
const context = { signal: new AbortController().signal };

/** Something that a model does: says something, or calls a tool. */
type Action = { readonly say: string } | { readonly tool: string; readonly args: Readonly<Record<string, unknown>> };

/** The expert's actions, with others of the kind that a model tries between them. */
function actionsOf(task: OfficeTask, number: number): Action[] {
  const random = randomStream(number, "actions");
  const { world } = task;
  const id = () => random.pick([...world.ids, "c01"]);
  const wild = (): Action =>
    random.pick<Action>([
      { say: "Done." },
      { say: "Which one?" },
      { tool: "cancel_event", args: { id: id() } },
      { tool: "add_contact", args: { name: "Zed Zulu" } },
      { tool: "add_event", args: { title: "party", day: "Friday", time: "12:00" } },
      { tool: "write_note", args: { title: "list", text: "milk" } },
      { tool: "pay", args: { to: id(), amount: 3 } },
      { tool: "unlock_file", args: { id: id() } },
      { tool: "move_event", args: { id: id(), time: "08:30" } },
    ]);
  return demonstrate(task, randomStream(1)).messages.flatMap((message): Action[] => {
    if (message.role !== "assistant") return [];
    const calls = (message.toolCalls ?? []).map(({ name, arguments: args }) => ({ tool: name, args }));
    const own: Action[] = calls.length > 0 ? calls : [{ say: message.content }];
    return random.chance(0.3) ? [wild(), ...own] : own;
  });
}

function act(episode: OfficeEpisode, action: Action): string {
  if ("say" in action) return JSON.stringify(episode.reply({ role: "assistant", content: action.say }));
  try {
    return JSON.stringify(episode.tools.find(({ name }) => name === action.tool)?.execute({ ...action.args }, context)) ?? "";
  } catch (error) {
    return String(error);
  }
}

const cases = fc.record({ index: fc.nat(500), number: fc.nat(), other: fc.nat(), cut: fc.nat(30) });

test("a clone answers the same actions as the original does, and neither notices what the other does", () => {
  fc.assert(
    fc.property(cases, ({ index, number, other, cut }) => {
      const task = drawTask(settings, "train", index);
      const actions = actionsOf(task, number);
      const at = cut % (actions.length + 1);
      const alone = startEpisode(task, "dense");
      const wanted = [...actions.map((action) => act(alone, action)), JSON.stringify(alone.score())];

      const original = startEpisode(task, "dense");
      const begun = actions.slice(0, at).map((action) => act(original, action));
      const [clone, disturber] = [original.clone(), original.clone()];
      const nested = clone.clone();
      // Another course of things, taken step by step beside the three.
      const disturbing = actionsOf(task, other);
      const rest = (episode: OfficeEpisode, beside: OfficeEpisode) => [
        ...begun,
        ...actions.slice(at).map((action, i) => {
          act(beside, disturbing[i % disturbing.length]);
          return act(episode, action);
        }),
        JSON.stringify(episode.score()),
      ];
      expect(rest(clone, disturber)).toEqual(wanted);
      expect(rest(original, disturber)).toEqual(wanted);
      expect(rest(nested, clone)).toEqual(wanted);
    }),
    { numRuns: 150 },
  );
});

test("the office's rollouts can branch: its episodes are clones, tasks untouched", async () => {
  const office = officeClassicEnvironment();
  const task = await office.task("train", 3);
  const before = JSON.stringify(task.world);
  const episode = await office.start(task, 1);
  const clone = await episode.clone?.();
  clone?.tools.find(({ name }) => name === "add_contact")?.execute({ name: "Zed Zulu" }, context);
  expect(JSON.stringify(task.world)).toBe(before);
});
