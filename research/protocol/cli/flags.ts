import { evaluationFlags } from "../../../src/cli/settings.ts";

const measured = ["environment.name", "evaluation.split", "evaluation.tasks", "evaluation.k", "evaluation.temperature", "seed"];
const player = ["model", "evaluation.player.baseUrl", "engine.device", "engine.threads"];

/** Flags that decide a measurement. */
export const measureFlags = evaluationFlags.filter(({ path }) => measured.includes(path));

/** Flags that decide who plays. */
export const playerFlags = evaluationFlags.filter(({ path }) => player.includes(path));
