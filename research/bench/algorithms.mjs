/**
 * `npm run bench:algorithms`: every advantage and every update rule on a batch of 1,024 trajectories × 10 turns × 200 tokens, in milliseconds of
 * CPU time (not wall time, so that other programs matter less), garbage collection included, per million action tokens. Runs dist/, what users run.
 */

import { klPenalty } from "../../dist/algorithms/objectives/kl.js";
import { valueLoss } from "../../dist/algorithms/objectives/value.js";
import { estimate } from "../../dist/algorithms/policy-gradient/estimate.js";
import { rowsOf, surrogate } from "../../dist/algorithms/policy-gradient/surrogate.js";
import { anyAdvantage, anyUpdate } from "../../dist/algorithms/settings/parts.js";
import { cut, episodeScales, joined, turnsOf } from "../../dist/algorithms/step/episodes.js";
import { fixedRows } from "../../dist/algorithms/step/minimise.js";
import { randomStream } from "../../dist/core/random.js";
import { parseSettings } from "../../dist/core/settings.js";

const groupCount = 128;
const groupSize = 8;
const turnCount = 10;
const tokens = 200;
const observation = 20;
const rounds = 5;

const random = randomStream(1, "bench");
const groups = Array.from({ length: groupCount }, (_, g) => groupOf(`g${g}`, random));
const millions = (groupCount * groupSize * turnCount * tokens) / 1e6;

const advantages = [
  ...anyAdvantage.options.map(({ shape }) => parseSettings(anyAdvantage, { kind: shape.kind.value })),
  parseSettings(anyAdvantage, { kind: "gae", over: "turn" }),
];
const updates = [
  ...anyUpdate.options.map(({ shape }) => parseSettings(anyUpdate, { kind: shape.kind.value })),
  parseSettings(anyUpdate, { kind: "reinforce", level: "sequence" }),
  parseSettings(anyUpdate, { kind: "ppu", level: "turn" }),
  parseSettings(anyUpdate, { kind: "ppu", level: "sequence" }),
];

const episodes = groups.flatMap(({ trajectories }) =>
  trajectories.map((trajectory) => ({ trajectory, turns: trajectory.turns })),
);
const turns = turnsOf(episodes);
const rowsFrom = (draw) => turns.map(({ action }) => action.map(draw));
const logprobs = rowsFrom(() => -random.uniform() * 3);
const oldLogprobs = logprobs.map((row) => row.map((p) => p + 0.1 * (random.uniform() - 0.5)));
const values = rowsFrom(() => random.uniform());
const perTrajectory = estimate(advantages[1], { groups }).advantages;
const scales = episodeScales(episodes, "token-mean");
const turnScales = episodes.flatMap(({ turns: own }, e) => own.map(() => scales[e]));

console.log(
  `${millions} million action tokens, node ${process.versions.node}; best of ${rounds} rounds, CPU ms per million tokens`,
);
for (const config of advantages)
  report(`advantage ${nameOf(config)}`, () => estimate(config, { groups, values: fixedRows(turns, values) }));
for (const config of updates) {
  report(`update ${nameOf(config)}`, () => {
    const batch = { logprobs, oldLogprobs, advantages: perTrajectory, tokenScales: turnScales };
    if (rowsOf(config) === "turns") return surrogate(config, batch, random);
    const whole = {
      logprobs: joined(episodes, logprobs),
      oldLogprobs: joined(episodes, oldLogprobs),
      advantages: joined(episodes, perTrajectory),
      tokenScales: scales,
    };
    return cut(episodes, surrogate(config, whole, random).weights);
  });
}
report("KL penalty k3", () =>
  klPenalty({ logprobs, refLogprobs: oldLogprobs, tokenScales: turnScales }, { estimator: "k3", coefficient: 0.1 }),
);
report("value loss", () =>
  valueLoss({ values, oldValues: values, returns: perTrajectory, tokenScales: turnScales }, { valueClip: 0.5 }),
);

function report(name, work) {
  const times = Array.from({ length: rounds }, () => {
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000 / millions;
  });
  console.log(
    `${name.padEnd(40)} ${Math.min(...times)
      .toFixed(1)
      .padStart(7)}   (slowest ${Math.max(...times).toFixed(1)})`,
  );
}

function nameOf({ kind, ...settings }) {
  const variant = "level" in settings ? settings.level : "over" in settings ? settings.over : "";
  return variant === "" ? kind : `${kind} (${variant})`;
}

function groupOf(id, draws) {
  return { id, trajectories: Array.from({ length: groupSize }, (_, i) => trajectoryOf(`${id}-${i}`, id, draws)) };
}

function trajectoryOf(id, group, draws) {
  let context = [1, 2, 3];
  const turns = Array.from({ length: turnCount }, (_, turn) => {
    const action = Array.from({ length: tokens }, () => draws.integer(1000));
    const own = {
      trajectory: id,
      turn,
      context,
      action,
      samplerLogprobs: [],
      entropies: [],
      weightVersion: 0,
      truncated: false,
      rewritten: false,
      invalidToolCalls: 0,
      toolCalls: 0,
    };
    const answer = draws.integer(3);
    context = [...context, ...action, ...Array.from({ length: observation }, () => answer)];
    return own;
  });
  return { id, group, task: group, turns, reward: draws.uniform(), scores: {}, stopReason: "done", messages: [] };
}
