import type { Random } from "../../src/core/random.ts";

/** The chance of falling into a habit, each time there is room for it: one for all, or by habit (0 where none is given). */
export type SlipChance<Habit extends string> = number | { readonly [H in Habit]?: number };

export function chanceOf<Habit extends string>(slip: SlipChance<Habit>, habit: Habit): number {
  return typeof slip === "number" ? slip : (slip[habit] ?? 0);
}

/** Draws whether an expert falls into a bad habit, and keeps account. */
export function drawSlips<Habit extends string>(random: Random, slip: SlipChance<Habit> | ((habit: Habit) => number)) {
  const slipped: Habit[] = [];
  const chance = typeof slip === "function" ? slip : (habit: Habit) => chanceOf(slip, habit);
  return {
    slipped,
    slips(habit: Habit): boolean {
      const slips = random.chance(chance(habit));
      if (slips) slipped.push(habit);
      return slips;
    },
  };
}
