import { z } from "zod";
import { RunError } from "../../../src/core/errors.ts";
import { parseBody } from "../../http/body.ts";
import type { HttpRequest } from "../../http/server.ts";
import { compareRuns } from "../../inspect/compare.ts";
import { pushedPhrases } from "../../inspect/phrases.ts";
import { addRemark, readRemarks, remarkSchema } from "../../inspect/remarks.ts";
import type { ComparisonView, PhraseList } from "./api.ts";
import { NotFound } from "./http.ts";
import type { RunSource, RunSources } from "./run-source.ts";
import { runDetail, runList } from "./run-views.ts";
import { count, pageQuery, positionOf, trajectoryPage, trajectoryView, treeView } from "./trajectory-views.ts";

type Answer = (runs: RunSources, query: URLSearchParams, request: HttpRequest) => unknown;

/** All that the page can ask, by method and path. The path of a run's parts is `/api/run/…?run=ID`. */
export const routes: Readonly<Record<string, Answer>> = {
  "GET /api/runs": runList,
  "GET /api/run": (runs, query) => runDetail(runOf(runs, query)),
  "GET /api/run/trajectories": (runs, query) => trajectoryPage(runOf(runs, query), parsed(pageQuery, given(query))),
  "GET /api/run/trajectory": (runs, query) => trajectoryView(runOf(runs, query), required(query, "id")),
  "GET /api/run/raw": (runs, query) => rawTrajectory(runOf(runs, query), required(query, "id")),
  "GET /api/run/tree": (runs, query) =>
    treeView(runOf(runs, query), parsed(count, required(query, "step")), query.get("group") ?? undefined),
  "GET /api/run/phrases": (runs, query) => phraseList(runOf(runs, query), parsed(count, required(query, "step"))),
  "GET /api/compare": (runs, query) => {
    const [a, b] = [runOf(runs, query, "a"), runOf(runs, query, "b")];
    return compareRuns({ record: a.record, index: a.index() }, { record: b.record, index: b.index() }) satisfies ComparisonView;
  },
  "GET /api/run/remarks": (runs, query) => readRemarks(runOf(runs, query).folder),
  "POST /api/run/remarks": async (runs, query, request) => {
    const source = runOf(runs, query);
    const remark = parseBody(await request.body(), remarkSchema);
    if (remark.kind === "mark") rawTrajectory(source, remark.trajectory);
    addRemark(source.folder, remark);
    return readRemarks(source.folder);
  },
};

/** The run that a parameter of the query names. @throws NotFound if there is none of that name */
export function runOf(runs: RunSources, query: URLSearchParams, name = "run"): RunSource {
  const id = required(query, name);
  const source = runs.find(id);
  if (source === undefined) throw new NotFound(`There is no run "${id}".`);
  return source;
}

function required(query: URLSearchParams, name: string): string {
  const value = query.get(name);
  if (value === null || value === "") throw new RunError(`the query's ${name}`, undefined, { expected: "a value" });
  return value;
}

/** Parameters that were left empty are left out. */
function given(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].filter(([, value]) => value !== ""));
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new RunError("the request", z.prettifyError(result.error));
}

function rawTrajectory(source: RunSource, id: string): unknown {
  return source.trajectory(positionOf(source, id));
}

async function phraseList(source: RunSource, step: number): Promise<PhraseList> {
  const line = source.index().find((of) => of.source === "train" && of.step === step);
  const credits = await source.credits(step);
  if (line === undefined || credits === undefined) return { step, up: [], down: [] };
  const texts = source.texts();
  return { step, ...pushedPhrases(source.all(line), credits, (ids) => texts.of(ids)) };
}
