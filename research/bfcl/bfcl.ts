import { EnvError } from "../../src/core/errors.ts";
import { parseSettings } from "../../src/core/settings.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { type FunctionDocument, readDocuments } from "./documents.ts";
import { startEpisode } from "./episode.ts";
import { openEvaluator, pythonOf } from "./evaluator/evaluator.ts";
import { defaultFolder } from "./files.ts";
import { bfclSettingsSchema } from "./settings.ts";
import { type BfclTask, type Category, categories, readTasks } from "./tasks.ts";
import { unpassable } from "./unpassable.ts";

/** Tasks of each category. */
const categorySize = 200;

/** SeeUPO's split of the base category (arXiv:2602.06554): the first half for training, the second for tests. */
const seeupoSplit = { train: { from: 0, size: 100 }, test: { from: 100, size: 100 } } as const;

/**
 * BFCL v4's multi-turn tasks as an environment. Splits: `train` and `test` are SeeUPO's halves of the base category, and each category is
 * a split of its own name with all of its 200 tasks; `all` has those of the four. The seed of an episode decides nothing.
 * @throws ConfigError naming the first setting that is wrong
 */
export function bfclEnvironment(userSettings: unknown = {}): Environment<BfclTask> {
  const settings = parseSettings(bfclSettingsSchema, userSettings, "environment.settings");
  const folder = settings.data ?? defaultFolder();
  const tasks = new Map<Category, readonly BfclTask[]>();
  const evaluator = openEvaluator(pythonOf(settings.python));
  let documents: ReadonlyMap<string, readonly FunctionDocument[]> | undefined;
  const tasksOf = (category: Category): readonly BfclTask[] => {
    let list = tasks.get(category);
    if (list === undefined) tasks.set(category, (list = readTasks(folder, category).map(withKind)));
    return list;
  };
  const documentsOf = () => {
    documents ??= readDocuments(folder);
    return documents;
  };
  const names = ["train", "test", ...categories, "all"];
  return {
    name: "bfcl",
    splits: names,
    size: (split) => (split === "all" ? categories.length * categorySize : (placeOf(split)?.size ?? 0)),
    task(split, index) {
      if (split === "all") return this.task(categories[Math.floor(index / categorySize)] ?? split, index % categorySize);
      const place = placeOf(split);
      const task = place === undefined ? undefined : tasksOf(place.category)[place.from + index];
      if (task === undefined) throw new EnvError(`task ${index} of bfcl split`, split, { expected: names });
      return task;
    },
    start: (task) => startEpisode({ task, documents: documentsOf(), settings, evaluator }),
    open() {
      tasksOf("base");
      documentsOf();
    },
    close: () => evaluator.close(),
    replayable: true,
  };
}

function placeOf(split: string): { readonly category: Category; readonly from: number; readonly size: number } | undefined {
  if (split === "train" || split === "test") return { category: "base", ...seeupoSplit[split] };
  const category = categories.find((name) => name === split);
  return category === undefined ? undefined : { category, from: 0, size: categorySize };
}

/** Reports group tasks by kind, so that the share without unpassable tasks can be read off. */
function withKind(task: BfclTask): BfclTask {
  return unpassable.has(task.id) ? { ...task, kind: `${task.category} (unpassable)` } : task;
}
