import type { Random } from "../core/random.ts";

/** The chance of falling into a habit, each time there is room for it: one for all, or by habit (0 where none is given). */
export type SlipChance<Habit extends string> = number | { readonly [H in Habit]?: number };

/** Draws whether an expert falls into a bad habit, and keeps account. */
export function drawSlips<Habit extends string>(random: Random, slip: SlipChance<Habit>) {
  const slipped: Habit[] = [];
  return {
    slipped,
    slips(habit: Habit): boolean {
      const slips = random.chance(typeof slip === "number" ? slip : (slip[habit] ?? 0));
      if (slips) slipped.push(habit);
      return slips;
    },
  };
}
