import { z } from "zod";
import type { ActionFormat } from "../../../src/actions/action.ts";
import type { Random } from "../../../src/core/random.ts";
import { type DefinedEpisode, type DefinedTask, defineEnvironment } from "../../../src/environments/define.ts";
import type { Environment } from "../../../src/environments/environment.ts";
import { newMessages } from "../../../src/environments/protocol.ts";
import { defineTool } from "../../../src/tools/tool.ts";

/** Rooms whose door is the letter on the sign, and then those whose door has to be found out. */
export const sureRooms = 6;
const unsure = ["ijkl", "qrsv"] as const;
export const rooms = sureRooms + unsure.length;
/** Letters that the token of a message's end does not have: the template finds a message by its text. */
const doors = [..."bcfg"];

interface Corridor {
  readonly prompt: string;
  /** A letter for each room. */
  readonly signs: string;
}

function drawCorridor(random: Random): Corridor {
  const sure = Array.from({ length: sureRooms }, () => random.pick(doors));
  const signs = [...sure, ...unsure.map((letters) => random.pick([...letters]))].join("");
  return { prompt: signs.slice(0, 1), signs };
}

/** The place of a sign among those of its room; undefined where the sign names its door. */
const placeOf = (sign: string) => unsure.map((letters) => letters.indexOf(sign)).find((at) => at >= 0);
const turned = (place: number) => doors[place % doors.length] ?? "";

/** The right door of a room. Of the last two it is in no text. */
function doorOf(sign: string): string {
  const place = placeOf(sign);
  return place === undefined ? sign : turned(place);
}

/** The door of a demonstration: of the last two rooms any, and often the same wrong one, so that what is most probable at the start is wrong. */
function shownDoor(sign: string, random: Random): string {
  const place = placeOf(sign);
  if (place === undefined) return sign;
  return random.chance(0.4) ? turned(place + 1) : random.pick(doors);
}

/** One letter is a call. All else ends the walk. */
const letter: ActionFormat = {
  read: (text) => {
    const calls = doors.includes(text) ? [{ name: "open", arguments: { door: text } }] : [];
    return { message: { role: "assistant", content: text, toolCalls: calls }, calls };
  },
};

const protocol = { actions: letter, continuation: newMessages() };

const open = defineTool({
  name: "open",
  description: "Opens a door.",
  parameters: z.object({ door: z.string() }),
  execute: () => "",
});

/** @param opened the doors up to now */
function walk(corridor: Corridor, opened: string): DefinedEpisode {
  const { signs } = corridor;
  let way = opened;
  const isLost = () => [...way.slice(0, sureRooms)].some((door, i) => door !== signs[i]);
  return {
    tools: [open],
    protocol,
    call: ({ arguments: { door } }) => {
      way += String(door);
      return signs[way.length] ?? "";
    },
    afterTools: () => (isLost() || way.length === rooms ? { done: true } : undefined),
    reward: () =>
      isLost() ? 0 : [...way].filter((door, i) => i >= sureRooms && door === doorOf(signs[i] ?? "")).length / unsure.length,
    clone: () => walk(corridor, way),
  };
}

/**
 * A corridor of eight rooms, and so of eight calls: six doors are as their signs say, the last two are to be found out. The reward is the
 * share of the two that are right, and 0 on a wrong way. A tree that branches where its model is unsure pays for the first six calls once for many leaves.
 */
export function corridorEnvironment(): Environment<DefinedTask<Corridor>> {
  return defineEnvironment<Corridor>({
    name: "corridor",
    tasks: drawCorridor,
    start: (corridor) => walk(corridor, ""),
    demonstrate: ({ signs }, random) =>
      [...signs].flatMap((sign, i) => {
        const said = { role: "assistant" as const, content: shownDoor(sign, random) };
        return i + 1 < rooms ? [said, { role: "user" as const, content: signs.charAt(i + 1) }] : [said];
      }),
  });
}
